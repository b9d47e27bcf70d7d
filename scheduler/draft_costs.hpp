#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace cogen::scheduler {

/// Estimates what draft tokens add to steps of decode rows. Newer steps weigh more.
///
/// A row attends to a context of its own, and a draft token to that of its row. So a draft token takes less time than a
/// row, and tokens of prompts say little about either. What it adds hardly depends on how many others there are.
class draft_costs {
 public:
  /// Nanoseconds.
  struct estimate {
    double row;
    double draft;
  };

  /// A step without prompts took so long: `rows` tokens, one of each row, and `drafts` more.
  void took(std::int64_t rows, std::int64_t drafts, std::chrono::nanoseconds time);

  /// What each takes in a step of so many rows. What was not measured lately is to be measured: draft tokens take no
  /// time if they are unknown, and infinitely long if rows without them are. All is 0 before the first step.
  estimate predict(std::int64_t rows) const;

 private:
  // Steps of about as many rows, each class about 1.4 times the one before.
  struct step_class {
    std::uint64_t steps = 0;
    std::uint64_t newest_without = 0, newest_with = 0;  // numbers of steps; 0: none
    double row = 0;
    double drafts_and_time = 0, drafts_squared = 0;  // of steps with drafts: sums of drafts * time, drafts * drafts

    bool knows(std::uint64_t newest) const { return newest > 0 && steps - newest < remembered; }
    double draft(double rows) const;
    void measured(double rows, double time);
  };

  static constexpr std::uint64_t remembered = 512;  // steps
  std::array<step_class, 64> classes_;
};

}  // namespace cogen::scheduler
