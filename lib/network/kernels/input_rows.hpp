#pragma once

#include "network/kernels/simd.hpp"
#include "network/kernels/strided_rows.hpp"

#include <cstdint>

namespace cogen::kernels {
namespace {

// Where M rows that are read along together have got to. One pointer serves three rows (itself, one and two strides on
// are addresses that x86 reads at no cost); left to itself, the compiler walks from row to row with an addition for
// each.
template <class Element, int M>
class input_rows {
 public:
  COGEN_INLINE explicit input_rows(strided_rows<const Element> rows) : stride_(rows.stride) {
    COGEN_UNROLL
    for (int i = 0; i < pointers; ++i) rows_[i] = rows[3 * i];
    keep_apart();
  }
  COGEN_INLINE const Element* operator[](int row) const { return rows_[row / 3] + row % 3 * stride_; }
  COGEN_INLINE void advance(std::int64_t elements) {
    COGEN_UNROLL
    for (int i = 0; i < pointers; ++i) rows_[i] += elements;
    keep_apart();
  }

 private:
  static constexpr int pointers = (M + 2) / 3;

  COGEN_INLINE void keep_apart() {
    COGEN_UNROLL
    for (int i = 0; i < pointers; ++i) asm("" : "+r"(rows_[i]));
  }

  const Element* rows_[pointers];
  std::int64_t stride_;
};

}  // namespace
}  // namespace cogen::kernels
