#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace cogen {

/// Rows of float32 numbers in host memory: row i begins at data + i * stride. Does not own them.
struct matrix_view {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;

  float* row(std::int64_t index) const { return data + index * stride; }
  std::span<float> operator[](std::int64_t index) const { return {row(index), static_cast<std::size_t>(columns)}; }

  /// All rows, with what lies between them.
  std::span<float> numbers() const { return {data, static_cast<std::size_t>(rows * stride)}; }

  /// Columns [first, first + count) of all rows.
  matrix_view columns_from(std::int64_t first, std::int64_t count) const { return {data + first, rows, count, stride}; }

  /// Rows [first, first + count).
  matrix_view rows_from(std::int64_t first, std::int64_t count) const { return {row(first), count, columns, stride}; }

  /// The first `count` rows.
  matrix_view first_rows(std::int64_t count) const { return rows_from(0, count); }
};

/// Memory of a matrix, whose rows lie side by side at a multiple of 64 bytes.
class matrix {
 public:
  matrix() = default;

  /// Its numbers are not set. Throws std::bad_alloc.
  matrix(std::int64_t rows, std::int64_t columns)
      : view_{.data = new(alignment) float[static_cast<std::size_t>(rows * columns)],
              .rows = rows,
              .columns = columns,
              .stride = columns},
        memory_(view_.data) {}

  matrix(matrix&& other) noexcept : view_(std::exchange(other.view_, {})), memory_(std::move(other.memory_)) {}
  matrix& operator=(matrix&& other) noexcept {
    view_ = std::exchange(other.view_, {});
    memory_ = std::move(other.memory_);
    return *this;
  }

  const matrix_view& view() const noexcept { return view_; }
  operator const matrix_view&() const noexcept { return view_; }

  std::int64_t rows() const noexcept { return view_.rows; }
  std::int64_t columns() const noexcept { return view_.columns; }
  std::span<float> operator[](std::int64_t index) const { return view_[index]; }
  std::span<float> numbers() const { return view_.numbers(); }
  std::int64_t bytes() const noexcept { return view_.rows * view_.columns * std::int64_t{sizeof(float)}; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct deleter {
    void operator()(float* numbers) const noexcept { ::operator delete[](numbers, alignment); }
  };

  matrix_view view_;
  std::unique_ptr<float[], deleter> memory_;
};

}  // namespace cogen
