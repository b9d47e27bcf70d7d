#pragma once

#include <cstdint>

namespace cogen::kernels {

/// Rows of a matrix that are computed one at a time, each by the thread that reads it first and just before it does:
/// nothing of them is fetched from further away than that thread's own caches.
class row_maker {
 public:
  /// Computes one row. Any thread; each row once.
  virtual void make(std::int64_t row) const = 0;

 protected:
  row_maker() = default;
  row_maker(const row_maker&) = default;
  row_maker& operator=(const row_maker&) = default;
  ~row_maker() = default;
};

}  // namespace cogen::kernels
