#pragma once

#if defined(COGEN_KERNELS_ROLLED)  // where only correctness is looked at
#define COGEN_UNROLL
#define COGEN_INLINE inline
#elif defined(__clang__)
#define COGEN_UNROLL _Pragma("unroll")
#define COGEN_INLINE __attribute__((always_inline)) inline
#else
#define COGEN_UNROLL _Pragma("GCC unroll 32")
#define COGEN_INLINE __attribute__((always_inline)) inline
#endif

// The vectors of the instruction set for which the including file is compiled, as `simd`, private to that file.
#if defined(COGEN_SIMD_AVX512)
#include "network/kernels/simd_avx512.hpp"
#elif defined(COGEN_SIMD_AVX2)
#include "network/kernels/simd_avx2.hpp"
#else
#include "network/kernels/simd_portable.hpp"
#endif

namespace cogen::kernels {
namespace {

COGEN_INLINE simd::f magnitude(simd::f v) {
  return simd::from_bits(simd::and_bits(simd::bits(v), simd::set_bits(0x7fffffff)));
}

}  // namespace
}  // namespace cogen::kernels
