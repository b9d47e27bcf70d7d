#pragma once

#include "network/kernels/simd.hpp"

#include <cstddef>

namespace cogen::kernels {
namespace {

// What is read next comes into the nearest cache, and what comes after it on its way there, so that memory is kept busy
// while products are.
template <int Bytes>
COGEN_INLINE void fetch(const std::byte* next, const std::byte* after) {
  constexpr int second_level = 2;
  COGEN_UNROLL
  for (int line = 0; line < Bytes; line += 64) {
    __builtin_prefetch(next + line);
    __builtin_prefetch(after + line, 0, second_level);
  }
}

}  // namespace
}  // namespace cogen::kernels
