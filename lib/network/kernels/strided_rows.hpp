#pragma once

#include <cogen/detail/matrix.hpp>

#include <concepts>
#include <cstdint>

namespace cogen::kernels {

/// Rows of numbers, `stride` numbers apart. Its functions are always inlined, so that no copy compiled for a newer
/// processor can replace a portable one. Kernel bodies do not default-construct it.
template <class T>
struct strided_rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  strided_rows() = default;
  [[gnu::always_inline]] strided_rows(T* data, std::int64_t stride) : data(data), stride(stride) {}
  [[gnu::always_inline]] strided_rows(const matrix_view& matrix)
    requires std::convertible_to<float*, T*>
      : data(matrix.data), stride(matrix.stride) {}

  [[gnu::always_inline]] T* operator[](std::int64_t row) const { return data + row * stride; }

  /// From `row` on, each without its first `column` numbers.
  [[gnu::always_inline]] strided_rows rest(std::int64_t row, std::int64_t column = 0) const {
    return {data + row * stride + column, stride};
  }
};

}  // namespace cogen::kernels
