#pragma once

#include <cstdint>

namespace cogen::kernels {

/// Rows of a matrix that are computed one at a time, each by the thread that reads it first and just before it does:
/// nothing of them is fetched from further away than that thread's own caches.
class prologue {
 public:
  /// Computes one row. Any thread; each row once.
  virtual void make(std::int64_t row) const = 0;

 protected:
  prologue() = default;
  prologue(const prologue&) = default;
  prologue& operator=(const prologue&) = default;
  ~prologue() = default;
};

}  // namespace cogen::kernels
