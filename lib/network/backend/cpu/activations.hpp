#pragma once

#include "network/kernels/strided_rows.hpp"

#include <cogen/detail/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cogen::cpu {

/// [rows, columns]
using activations = matrix_view;

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
