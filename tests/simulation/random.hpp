#pragma once

#include <cstdint>

namespace cogen::simulation {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine.
class random {
 public:
  explicit random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// One of first, …, last.
  int between(int first, int last) {
    return first + static_cast<int>(next() % static_cast<std::uint64_t>(last - first + 1));
  }

  bool chance(int percent) { return between(1, 100) <= percent; }

  /// An index into `weights`, each as likely as its weight.
  template <class Weights>
  int weighted(const Weights& weights) {
    int sum = 0;
    for (const int weight : weights) sum += weight;
    int sampled = between(1, sum);
    int chosen = 0;
    for (const int weight : weights) {
      if ((sampled -= weight) <= 0) break;
      ++chosen;
    }
    return chosen;
  }

 private:
  std::uint64_t state_;
};

}  // namespace cogen::simulation
