#pragma once

#include "simulation/visit_table.hpp"

namespace cogen::engine_simulation {

/// What a stream can be at when something happens to it.
enum class stream_at { queued, waiting, prefilling, decoding, paused, preempted, ended, failed, count };

/// What happens to it.
enum class stream_event {
  next,
  next_for,
  timed_out,
  complete,
  progress,
  second,
  total,
  partial,
  terminal,
  stop,
  destroy,
  device_failed,
  engine_stopped,
  engine_destroyed,
  count
};

/// What a sequence under its owner's control can be at: with an operation pending (queued to opening) or without.
enum class sequence_at {
  fresh,
  queued,
  waiting,
  prefilling,
  decoding,
  preemption,
  saving,
  opening,
  idle,
  preempted,
  dead,
  count
};

enum class sequence_event {
  forward,
  decode,
  fork,
  truncate,
  suspend,
  save,
  open,
  total,
  partial,
  terminal,
  destroy,
  device_failed,
  engine_stopped,
  engine_destroyed,
  count
};

/// What else must have happened at least once.
enum class feature {
  held,
  chained,
  sampled_by_device,
  sampled_after_unknown,
  postponed,  ///< what a guide was asked, beside a step
  carried_out_late,
  encoder_read,
  preempted,
  displaced,
  prefix_hit_tokens,
  transferred,
  snapshot_opened,
  cut_when_opened,  ///< before it went on
  lost,
  end,
  length,
  stopped,
  bad_logits,
  invalid_request,
  does_not_fit,
  queue_full,
  in_progress,
  aborted,
  part_of_a_completion,
  sampled,
  destroyed_in_handler,
  stopped_in_handler,
  went_with_its_executor,
  won_by_stream,
  won_by_fork,
  lost_when_ready,
  count
};

/// How often each pair and each feature was visited.
class coverage {
 public:
  coverage();

  void visit(stream_at state, stream_event event) { streams_.visit(static_cast<int>(state), static_cast<int>(event)); }
  void visit(sequence_at state, sequence_event event) {
    sequences_.visit(static_cast<int>(state), static_cast<int>(event));
  }
  void visit(feature reached) { features_.visit(static_cast<int>(reached)); }
  void add(const coverage& other);

  /// Prints the tables; true when everything was visited that can be.
  bool report(std::ostream& out) const;

 private:
  simulation::visit_table streams_, sequences_;
  simulation::visit_list features_;
};

}  // namespace cogen::engine_simulation
