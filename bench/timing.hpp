#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace cogen {

inline int repetitions = 15;

struct timing {
  double median;
  double spread;  // half the distance between the quartiles, as a share of the median
};

inline timing summary(std::vector<double> values) {
  std::ranges::sort(values);
  const double median = values[values.size() / 2];
  return {median, (values[values.size() * 3 / 4] - values[values.size() / 4]) / 2 / median};
}

inline double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline timing measure(const std::function<void()>& work) {
  work();
  const int inner = std::clamp(static_cast<int>(0.001 / std::max(seconds(work), 1e-7)), 1, 10000);
  std::vector<double> times;
  for (int repetition = 0; repetition < repetitions; ++repetition)
    times.push_back(seconds([&] {
                      for (int i = 0; i < inner; ++i) work();
                    }) /
                    inner);
  return summary(std::move(times));
}

}  // namespace cogen
