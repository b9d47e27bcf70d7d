#pragma once

#include <cstdint>

namespace cogen::scheduler {

/// Bytes reserved out of a budget.
class memory_account {
 public:
  explicit memory_account(std::int64_t budget) : budget_(budget) {}

  bool fits(std::int64_t bytes) const { return bytes <= budget_ - used_; }
  void change(std::int64_t bytes) { used_ += bytes; }
  std::int64_t used() const { return used_; }

 private:
  std::int64_t budget_;
  std::int64_t used_ = 0;
};

}  // namespace cogen::scheduler
