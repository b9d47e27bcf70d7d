#pragma once

#include "network/kernels/strided_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cogen::cpu {

/// Rows of float32 in memory owned elsewhere; `stride` counts floats between rows. [rows, columns]
struct activations {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;

  float* row(std::int64_t index) const { return data + index * stride; }

  /// As kernels take them, which read (const float) or write them.
  template <class T>
  operator kernels::strided_rows<T>() const {
    return {data, stride};
  }

  /// All rows, with what lies between them.
  std::span<float> numbers() const { return {data, static_cast<std::size_t>(rows * stride)}; }

  /// Columns [first, first + count) of all rows.
  activations columns_from(std::int64_t first, std::int64_t count) const { return {data + first, rows, count, stride}; }

  /// The first `count` rows.
  activations first_rows(std::int64_t count) const { return {data, count, columns, stride}; }
};

/// Memory for one forward's activations, kept for the next: a forward that needs no more than an earlier one allocates
/// nothing. Returned in reverse order, by scopes. Not thread-safe.
class arena {
 public:
  /// Returns what is taken during its lifetime. Scopes nest.
  class scope {
   public:
    explicit scope(arena& space) : space_(space), current_(space.current_), used_(space.used_) {}
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() {
      space_.current_ = current_;
      space_.used_ = used_;
    }

   private:
    arena& space_;
    std::size_t current_;
    std::size_t used_;
  };

  /// Starts over: memory taken before is invalid. Throws std::bad_alloc.
  void reset();

  /// [rows, columns], not initialized, aligned to 64 bytes. Throws std::bad_alloc.
  activations take(std::int64_t rows, std::int64_t columns);

  /// The same of integers.
  std::span<std::int32_t> take_integers(std::int64_t count);

  /// Memory held.
  std::int64_t bytes() const noexcept;

 private:
  struct release {
    void operator()(float* data) const noexcept;
  };
  struct block {
    std::unique_ptr<float[], release> data;
    std::size_t size = 0;
  };

  static block allocate(std::size_t size);
  std::size_t size() const noexcept;

  std::vector<block> blocks_;
  std::size_t current_ = 0;  // the block that memory is taken from; those before it are full
  std::size_t used_ = 0;     // floats of it
};

}  // namespace cogen::cpu
