#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace server::metrics {

/// Counts values by upper bounds, which ascend. Prometheus' histogram.
class histogram {
 public:
  explicit histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void add(double value, std::uint64_t times = 1) {
    const auto place = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<std::size_t>(place)] += times;
    sum_ += value * static_cast<double>(times);
  }

  const std::vector<double>& bounds() const noexcept { return bounds_; }
  const std::vector<std::uint64_t>& counts() const noexcept { return counts_; }  ///< the last one: beyond all bounds
  double sum() const noexcept { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

}  // namespace server::metrics
