#pragma once

#include "simulation/visit_table.hpp"

#include <cogen/detail/scheduler/types.hpp>

namespace cogen::scheduler::simulate {

/// What a sequence can be at when something happens to it.
enum class state {
  fresh,
  idle,
  idle_in_flight,
  waiting,
  prefilling,
  prefilling_in_flight,
  decoding,
  decoding_in_flight,
  paused,
  paused_in_flight,
  late,          ///< what its row sampled is not known yet
  idle_leaving,  ///< what it has cached is on its way out of its slot
  running_leaving,
  idle_swapped_out,
  running_swapped_out,
  idle_returning,
  running_returning,
  gone,
  count
};

/// What is done to it.
enum class verb { start, grant, abandon, cancel, fork, suspend, truncate, copy_out, count };

/// What else must have happened at least once.
enum class feature {
  token,
  end_token,
  length,
  samples_over,
  chunk,
  logits,
  last_logits,
  without_logits,  ///< it waits until a step has room for its logits
  failed_prefill,
  failed_decode,
  wasted,
  gone_in_flight,
  no_room,
  chained,
  draft_accepted,
  draft_refused,
  failed_after_draft,  ///< no token could be sampled there
  late,
  late_after_draft,  ///< drafts were dropped
  late_failed,
  late_wasted,
  cleared,
  truncated,
  shared_prefixes,
  copied,
  moved,
  lost_its_slot,
  base_shrunk,
  checkpoint_taken,
  checkpoint_dropped,  ///< for others
  checkpoint_shared,   ///< another slot goes on from there
  checkpoint_returned,
  encoder_read,
  preempted,
  swapped_out,
  not_swapped_out,
  swapped_in,
  inexact,
  lost_leaving,
  lost_returning,
  dropped,
  prefix_hit_tokens,
  reused_when_it_came,  ///< before its first row of all
  taken_over,           ///< a whole slot
  followed,
  displaced,
  made_way,  ///< for one that grew
  short_of_memory,
  branch_kept,
  kept,
  given_up,
  copied_out,
  copy_lost,
  prefix_copied_out,
  prefix_restored,
  prefix_without_room,
  prefix_lost,
  copied_stored,
  opened,
  opened_without_room,
  cut_when_opened,  ///< before it went on
  refused,
  memory_refused,
  empty_plan,
  plan_without_rows,
  overtaken,       ///< by one that came later, as the policy has it
  shares_divided,  ///< between two tenants that both wait
  deadline_unreachable,
  in_time,
  count
};

state state_of(phase where, bool in_flight, bool has_tokens);

/// Of one whose cache is not in a slot; stages: 0 leaving, 1 swapped out, 2 returning.
state state_of_swapped(bool running, int stage);

/// How often each pair and each feature was visited.
class coverage {
 public:
  coverage();

  void visit(state current, verb action) { pairs_.visit(static_cast<int>(current), static_cast<int>(action)); }
  void visit(feature reached) { features_.visit(static_cast<int>(reached)); }
  void add(const coverage& other);

  /// Prints the table; true when everything was visited.
  bool report(std::ostream& out) const;

 private:
  simulation::visit_table pairs_;
  simulation::visit_list features_;
};

}  // namespace cogen::scheduler::simulate
