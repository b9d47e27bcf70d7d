#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace cogen::bench {

/// The smallest of the values that at least so large a share of them does not exceed. `values` is not empty.
inline double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

/// What repeated runs come to.
struct repeated {
  double median;
  double least;
  double most;
};

inline repeated over(const std::vector<double>& runs) {
  return {quantile(runs, 0.5), quantile(runs, 0), quantile(runs, 1)};
}

/// A figure of each run.
template <class Run, class Figure>
repeated over(const std::vector<Run>& runs, Figure figure) {
  std::vector<double> values;
  for (const auto& each : runs) values.push_back(each.*figure);
  return over(values);
}

}  // namespace cogen::bench
