#pragma once

#include "draft_acceptance.hpp"
#include "run_order.hpp"

#include <cogen/policy.hpp>
#include <cogen/scheduler/scheduler.hpp>

#include <list>
#include <optional>
#include <set>
#include <vector>

namespace cogen::scheduler {

/// A row that was absorbed and whose sample was not known then.
struct late_row {
  std::uint64_t step;
  int begin;   ///< tokens before the row
  int drafts;  ///< that it had
};

/// The progress of a sequence's run.
struct progress {
  output wanted;
  std::uint64_t arrival;  ///< identifies the run
  time asked;
  std::int64_t credits;  ///< not yet spent on a row
  std::int64_t samples;  ///< for which no row is planned yet
  int unknown;           ///< tokens that rows in flight sample and later rows may run; draft tokens in flight
  int length_before;
  int sampled_before;
  int length_fed;  ///< with the run's own tokens
  bool scores_prompt;
  std::optional<late_row> late = {};  ///< whose sample the run awaits
  std::uint64_t last_asked = 0;       ///< state::asked when it began or was last granted credits
  std::uint64_t displaced_at = 0;     ///< state::asked when it was last displaced; 0: never
};

/// A sequence waits until another one has run the first `length` tokens, which both have; without a leader, until the
/// next step.
struct following {
  sequence_id leader{};
  std::uint64_t arrival = 0;  ///< identifies the leader's run
  int length = 0;
};

/// A sequence's cache outside of the slots, or in transfer; `copied`: in its slot, while a transfer copies it.
struct swap_state {
  enum class stage : std::uint8_t { swapping_out, stored, swapping_in, copied };

  swap_id name;
  stage current_stage;
  int length;  ///< of its slot
  int high_water_mark;
  bool exact = true;  ///< its slot's contents are exact
};

/// The state of a sequence after the last of its transitions that was returned.
struct reported_status {
  status is = status::waiting;
  int slot = -1;
};

struct sequence;

/// The nodes of a sequence in queues, allocated once: changing queues allocates nothing.
struct queue_nodes {
  queue_nodes();
  void name(sequence* seq);

  run_order::node_type ordered;
  run_order::iterator place;  ///< its node, in its current ordered queue
  std::set<sequence*>::node_type leading;
  std::list<sequence*> unordered{nullptr};
  std::list<sequence*>::iterator turn = unordered.begin();  ///< its node, in its current list
  std::list<sequence*> unchanged{nullptr};
  std::list<sequence*>::iterator change = unchanged.begin();  ///< its node among the transitions
};

/// A sequence, in its state after every step given out so far.
struct sequence {
  sequence_id id{};
  sequence_options options;
  int capacity = 0;  ///< tokens it can ever hold
  token_list tokens;
  int sampled = 0;  ///< over all runs

  int slot = -1;               ///< set by transitions alone
  bool was_preempted = false;  ///< since its last transition was returned
  reported_status reported;
  int reserved = 0;  ///< tokens that memory is reserved for in its slot, or was refused for when it last waited for one
  int cached = 0;    ///< tokens in its slot or swap entry: known ones first, then unknown ones or drafts
  std::optional<cogen::scheduler::swap_state> swapped;
  bool exact = true;  ///< nothing it continued from was restored from an inexact snapshot

  bool fresh = false;                      ///< it has had no row in its slot
  bool prefilling = true;                  ///< its next row prefills even if it feeds one token
  std::optional<following> awaits_prefix;  ///< only while it is fresh
  int branch = 0;                          ///< where others diverge from it, and something has to be kept; 0: nowhere
  std::vector<int> checkpoints;            ///< of its run, those not yet reached
  int prefix_hit_tokens = 0;               ///< tokens from the prefix cache before its first row
  bool runs_ahead = true;                  ///< rows may be planned before the token they run is known
  std::vector<token> drafts;               ///< after its last token, until its next row that samples is absorbed
  bool only_if_faster = false;             ///< of them no more are run than pay
  draft_acceptance accepts;                ///< how often its drafts were right

  bool running = false;
  progress current{};

  phase where = phase::idle;  ///< the queue it is in
  candidate queued_as{};      ///< its place there, if that is ordered
  double mark = 0;            ///< of its tenant, if it leads its tenant's runs there
  bool leads = false;
  std::int64_t to_be_fed = 0;   ///< tokens still to feed of those counted when it got its slot
  queue_nodes nodes;            ///< its nodes while it is in no queue
  std::uint64_t served = 0;     ///< number of the last step with a row of it
  bool listed_as_idle = false;  ///< it is in queues::idle_in_slots
  std::optional<time> since;    ///< when it was first seen idle

  int length() const { return static_cast<int>(tokens.size()); }

  /// Tokens that its slot has to hold once all that can run now has run.
  int needed() const { return length() + current.unknown; }

  /// Tokens that can run now, unknown ones included.
  int remaining() const { return length() + current.unknown - cached; }

  /// The encoder input, if the next row has to read it: a slot without tokens has none.
  encoder_tokens unread() const { return cached == 0 ? options.encoder_input : nullptr; }

  /// Tokens that the model has still to process, those of an encoder input included.
  int work() const;

  /// What a policy sees of it now.
  candidate as_candidate() const;

  /// Tokens that may still be sampled by rows not yet planned.
  std::int64_t room() const;

  /// The same within its run.
  std::int64_t samples_left() const;

  /// Whether the next row runs tokens of a prompt that are to be scored.
  bool scores() const { return current.scores_prompt && length() == current.length_fed && current.unknown == 0; }

  /// Whether its cache is being transferred between its slot and the host.
  bool in_transfer() const { return swapped && swapped->current_stage != swap_state::stage::stored; }

  /// Whether a row of it could be planned if it had a slot.
  bool ready() const;

  /// Whether it has a slot and nothing to run.
  bool idle_in_slot() const { return slot >= 0 && !ready() && !in_transfer(); }

  bool ends_with(token sampled_token) const;

  /// Changes nothing. Throws std::invalid_argument if `next` is invalid, std::length_error if it does not fit.
  void check(const run& next) const;

  /// Throws std::bad_alloc, and has changed nothing then.
  void begin(run&& next, std::uint64_t arrival, time asked);

  /// Ends the run; results of rows in flight are discarded.
  void end();

  /// Restores the tokens from before the run.
  void undo();

  /// Keeps only the first `length` tokens, and counts no more than that as cached.
  void keep(int length);
};

}  // namespace cogen::scheduler
