#pragma once

#include "sampling/philox.hpp"

#include <cogen/detail/sampling_batch.hpp>

#include <cstdint>

namespace cogen {

/// A number in [0, 1) with 53 random bits: Philox4x32-10 with the seed as its key and (position, sample, branch) as its
/// counter.
constexpr double uniform(const sampling_key& key) {
  const auto low = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  const auto high = [](std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); };
  const auto words =
      philox4x32_10({key.position, key.sample, low(key.branch), high(key.branch)}, {low(key.seed), high(key.seed)});
  const std::uint64_t bits = (std::uint64_t{words[1]} << 32 | words[0]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

/// The random numbers of one sequence. A copy samples the same numbers; a fork samples others.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed = 0);

  /// Restores the stream with these properties.
  random_stream(std::uint64_t seed, std::uint64_t branch, std::uint32_t forks)
      : seed_(seed), branch_(branch), forks_(forks) {}

  /// Starts again with another seed, on the seed's first branch.
  void reseed(std::uint64_t seed);

  /// The stream of a forked sequence: a new branch, which depends only on this stream's branch and on how many forks it
  /// has made. This stream's own numbers do not change.
  random_stream fork();

  std::uint64_t seed() const { return seed_; }
  std::uint64_t branch() const { return branch_; }
  std::uint32_t forks() const { return forks_; }

  sampling_key key(std::uint32_t position, std::uint32_t sample = 0) const {
    return {seed_, branch_, position, sample};
  }

 private:
  std::uint64_t seed_;
  std::uint64_t branch_ = 0;
  std::uint32_t forks_ = 0;
};

}  // namespace cogen
