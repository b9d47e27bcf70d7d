#pragma once

#include <cogen/clock.hpp>
#include <cogen/metrics.hpp>

#include <algorithm>
#include <optional>

namespace cogen::detail {

/// How much of a prompt has been read, and how much of that its client knows. Not thread-safe: its owner guards it.
class prompt_reading {
 public:
  /// The first step with tokens of the prompt begins `now`; so many of them were found in the prefix cache.
  void begin(int total, int cached, clock::time_point now) noexcept {
    progress_ = {.total = total, .cached = cached, .processed = cached};
    begun_ = now;
  }

  /// The first `processed` tokens of the sequence have been run, the last of them in a step that ended at `now`. Tokens
  /// that are run again count once.
  void advance(int processed, clock::time_point now) noexcept {
    processed = std::min(processed, progress_.total);
    if (processed <= progress_.processed) return;
    progress_.processed = processed;
    progress_.time = now - begun_;
  }

  /// There is no prompt to report.
  void skip() noexcept { known_ = progress_.total; }

  /// What the client does not know yet. It knows it after take_update().
  std::optional<prompt_progress> news() noexcept {
    const bool any = progress_.processed > known_ && progress_.total > 0;
    reported_ = any ? progress_.processed : known_;
    return any ? std::optional(progress_) : std::nullopt;
  }

  void take_update() noexcept { known_ = std::max(known_, reported_); }

  /// Whether the client knows that all has been read.
  bool is_over() const noexcept { return known_ >= progress_.total; }

 private:
  prompt_progress progress_;
  clock::time_point begun_{};
  int known_ = -1;
  int reported_ = -1;
};

}  // namespace cogen::detail
