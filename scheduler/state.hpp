#pragma once

#include "checked_policies.hpp"
#include "draft_costs.hpp"
#include "pace.hpp"
#include "prefix_tree.hpp"
#include "queues.hpp"
#include "slot_pool.hpp"
#include "step_costs.hpp"
#include "swap_pool.hpp"
#include "transitions.hpp"

#include <list>
#include <unordered_map>
#include <vector>

namespace cogen::scheduler {

/// A row in flight: its run, and what that run expects of it.
struct row_record {
  sequence_id sequence;
  std::uint64_t arrival;
  int begin;  ///< tokens before the row
  output wanted;
  bool last;    ///< of what the run can feed
  int unknown;  ///< how many of the sequence's unknown tokens are this row's
};

struct step_record {
  std::uint64_t number = 0;
  std::vector<row_record> rows;
  std::int64_t tokens = 0;  ///< run in it, those of encoder inputs and drafts included
  std::int64_t drafts = 0;
};

/// The whole state of the scheduler. The other files of this folder hold the operations on it.
struct state {
  state(const limits& limits, std::unique_ptr<scheduling_policy> scheduling_policy,
        std::unique_ptr<preemption_policy> preemption_policy, std::unique_ptr<allocation_policy> reserves);

  const limits within;
  policy_breach breach;
  checked_scheduling_policy policy;
  const checked_preemption_policy leaves;
  const checked_allocation_policy reserves;
  slot_pool slots;
  swap_pool swapped_out;
  prefix_tree known;  ///< what slots hold, for others to share
  queues queued;
  transitions changes;
  std::unordered_map<sequence_id, sequence> sequences;
  std::list<step_record> in_flight;
  std::list<step_record> absorbed;      ///< reused for the next ones
  std::vector<const sequence*> served;  ///< by the step being made
  time now = time::min();
  pace measured;
  step_costs costs;
  draft_costs costs_of_drafts;
  bool has_drafts = false;          ///< some have to be worth their time, or had to
  std::vector<double> likelihoods;  ///< of the draft tokens of the step being made
  std::uint64_t preempted = 0;
  std::uint64_t prefix_hit_tokens = 0;
  std::uint64_t draft_tokens = 0;
  std::uint64_t accepted_drafts = 0;
  std::uint64_t plans = 0;
  std::uint64_t arrivals = 0;
  std::uint64_t asked = 0;  ///< runs begun and credits granted
  std::uint64_t ids = 0;
};

}  // namespace cogen::scheduler
