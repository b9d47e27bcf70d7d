#pragma once

#include "answers/grammar/bounded_work.hpp"

#include <atomic>
#include <cstdint>

namespace cogen::detail {

/// How many steps on grammars the rows of a step may take while all of them wait. Any thread.
class guide_allowance {
 public:
  /// A millisecond of a processor or so; strings with a long maximum take half of that for a token.
  static constexpr std::int64_t max_of_row = 250'000;

  /// Of all rows of a step together. Behind it each of them has only what most masks take.
  static constexpr std::int64_t max_of_step = 4'000'000, min_of_row = 10'000;

  /// One row's, on the current thread while this exists.
  class share {
   public:
    explicit share(guide_allowance& allowance) noexcept
        : allowance_(allowance), work_(allowance.left_ > 0 ? max_of_row : min_of_row) {}
    ~share() { allowance_.left_ -= work_.steps(); }
    share(const share&) = delete;
    share& operator=(const share&) = delete;

   private:
    guide_allowance& allowance_;
    const grammar::brief_work work_;
  };

  void begin_step() noexcept { left_ = max_of_step; }

 private:
  std::atomic<std::int64_t> left_ = max_of_step;
};

}  // namespace cogen::detail
