#pragma once

#include <cogen/clock.hpp>

#include <optional>

namespace cogen {

/// Times of one stream or sequence, by the engine's clock, and how it spent them: the time from `accepted` to `ended`,
/// or until now, is `waiting + running + preempted`. A plain value.
struct request_metrics {
  using time_point = clock::time_point;
  using duration = clock::duration;

  time_point opened;  ///< `generate()`, `open()` or `fork()` was called
  std::optional<time_point>
      accepted;  ///< it was queued for a slot: a sequence by its first operation, a fork when it was made
  std::optional<time_point> scheduled;  ///< it first got a slot
  std::optional<time_point>
      first_token;  ///< its prompt was run and its first token sampled; of a sequence: its first result
  std::optional<time_point> last_token;  ///< the newest token; of a sequence: result
  std::optional<time_point> ended;

  duration waiting{};    ///< for its first slot
  duration running{};    ///< with a slot, whether in steps or waiting for its reader
  duration computing{};  ///< of `running`: in steps that had a row of it
  duration preempted{};  ///< without a slot after it had one

  int steps = 0;          ///< steps that had a row of it and ended before it did
  int prefill_steps = 0;  ///< of those, how many ran a prompt, several tokens fed at once, or tokens lost by preemption
  int preemptions = 0;    ///< how often it gave up its slot before it ended
};

}  // namespace cogen
