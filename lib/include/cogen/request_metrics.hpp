#pragma once

#include <cogen/clock.hpp>

#include <optional>

namespace cogen {

/// When what happened to one stream or sequence, by the engine's clock, and what its time went into: from `accepted` to
/// `ended`, or to now while it lives, is `waiting + running + preempted`. A plain value.
struct request_metrics {
  using time_point = clock::time_point;
  using duration = clock::duration;

  time_point opened;                      ///< `generate()`, `open()` or `fork()` was called
  std::optional<time_point> accepted;     ///< it was queued for a slot: a sequence by its first operation or its fork
  std::optional<time_point> scheduled;    ///< it had a slot for the first time
  std::optional<time_point> first_token;  ///< its prompt was run, and the first token sampled; a sequence: first result
  std::optional<time_point> last_token;   ///< the newest token; a sequence: result
  std::optional<time_point> ended;

  duration waiting{};    ///< for its first slot
  duration running{};    ///< with a slot, whether steps served it or its reader was slow
  duration computing{};  ///< of `running`: in steps that had a row of it
  duration preempted{};  ///< without a slot, after it had had one

  int steps = 0;          ///< that had a row of it and ended while it lived
  int prefill_steps = 0;  ///< of those, how many ran a prompt, several tokens fed at once, or those lost by preemption
  int preemptions = 0;    ///< how often it left its slot before it ended
};

}  // namespace cogen
