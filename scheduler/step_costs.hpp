#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace cogen::scheduler {

/// Estimates how long steps take by their number of tokens. Newer steps weigh more.
class step_costs {
 public:
  void took(std::int64_t tokens, std::chrono::nanoseconds time);

  /// The most tokens of a step that should take no longer than `limit`: interpolated between measured steps, and in
  /// proportion beyond them, since larger steps take less time per token. 0 before the first step.
  std::int64_t tokens_within(std::chrono::nanoseconds limit) const;

 private:
  // Steps of about as many tokens, each class about 1.4 times the one before.
  struct step_class {
    double tokens = 0;
    double time = 0;  // nanoseconds
    std::uint64_t newest = 0;
  };

  bool is_known(const step_class& bucket) const { return bucket.tokens > 0 && steps_ - bucket.newest < remembered; }

  static constexpr std::uint64_t remembered = 512;  // steps: a class that was slow once is tried again
  std::array<step_class, 64> classes_;
  std::uint64_t steps_ = 0;
};

}  // namespace cogen::scheduler
