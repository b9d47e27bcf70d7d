#pragma once

#include <cogen/scheduler/scheduler.hpp>
#include <cogen/scheduler/scheduling_policy.hpp>

#include <list>
#include <optional>
#include <set>
#include <vector>

namespace cogen::scheduler {

/// How far the run of a sequence has come.
struct progress {
  output wanted;
  std::uint64_t arrival;  ///< names the run for ever
  time asked;
  std::int64_t credits;  ///< not yet spent on a row
  std::int64_t samples;  ///< for which no row is planned yet
  int unknown;           ///< tokens that rows in flight sample
  int length_before;
  int sampled_before;
  int length_fed;  ///< of the sequence with the run's own tokens
};

/// A sequence waits until another one has run the first `length` tokens, which are its own, too; or, without a leader,
/// until the next plan.
struct following {
  sequence_id leader{};
  std::uint64_t arrival = 0;  ///< names the leader's run
  int length = 0;
};

/// What a sequence has cached outside of the slots, or on its way; `copied`: in its slot, and on its way from there.
struct away {
  enum class stage : std::uint8_t { leaving, stored, returning, copied };

  swap_id name;
  stage at;
  int length;  ///< of its slot
  int reach;
  bool exact = true;  ///< what it leaves there is, bit by bit
};

struct sequence;

/// The nodes with which a sequence stands in queues, made once: changing queues needs no memory.
struct queue_nodes {
  queue_nodes();
  void name(sequence* seq);

  std::set<sequence*>::node_type ordered;
  std::set<sequence*>::node_type leading;
  std::list<sequence*> unordered{nullptr};
  std::list<sequence*>::iterator turn = unordered.begin();  ///< its node, in whichever list it is
  std::list<sequence*> unchanged{nullptr};
  std::list<sequence*>::iterator change = unchanged.begin();  ///< its node among the slot changes
};

/// A sequence, and where it stands once every plan given out so far has run.
struct sequence {
  sequence_id id{};
  sequence_options options;
  int capacity = 0;  ///< tokens it may ever hold
  std::vector<token> tokens;
  int sampled = 0;  ///< over all runs

  int slot = -1;           ///< set by slot_changes alone
  bool preempted = false;  ///< since its last slot change was given
  int reserved = 0;        ///< tokens that memory is set aside for in its slot
  int cached = 0;  ///< tokens that its slot holds, or what was swapped out, of those known and then of those unknown
  std::optional<cogen::scheduler::away> away;
  bool exact = true;  ///< nothing it went on from was restored from an inexact snapshot

  bool fresh = false;                      ///< it has had no row in its slot
  std::optional<following> awaits_prefix;  ///< only while it is fresh
  int branch = 0;                          ///< where others part from it, and something has to be kept; 0: nowhere
  int prefix_hit_tokens = 0;               ///< tokens that it began with before its first row of all

  bool running = false;
  progress current{};

  phase where = phase::idle;  ///< the queue it is in
  candidate queued_as{};      ///< its place there, if that is ordered
  double mark = 0;            ///< of its tenant, if it leads its tenant's runs there
  bool leads = false;
  std::int64_t to_be_fed = 0;  ///< of the tokens that it had to be fed when it was given its slot
  queue_nodes nodes;           ///< those it stands with in no queue
  std::uint64_t served = 0;    ///< number of the last plan with a row of it
  bool rests = false;          ///< it is among those that rest
  std::optional<time> since;   ///< when it was first seen resting

  int length() const { return static_cast<int>(tokens.size()); }

  /// Tokens that its slot has to hold when all that can be run now has been.
  int needed() const { return length() + current.unknown; }

  /// Tokens that can be run now, unknown ones included.
  int remaining() const { return length() + current.unknown - cached; }

  /// The encoder input, where the next row has to bring it: a slot without tokens has none.
  encoder_tokens unread() const { return cached == 0 ? options.encoder_input : nullptr; }

  /// Tokens that the model has still to go through, those of an encoder input included.
  int work() const;

  /// What a policy sees of it now.
  candidate as_candidate() const;

  /// Tokens that may still be sampled by rows not yet planned.
  std::int64_t room() const;

  /// The same within its run.
  std::int64_t samples_left() const;

  /// Whether its cache is on its way between its slot and the host.
  bool in_transfer() const { return away && away->at != away::stage::stored; }

  /// Whether a row of it can be planned, a slot apart.
  bool ready() const;

  /// Whether it has a slot and nothing to run.
  bool resting() const { return slot >= 0 && !ready() && !in_transfer(); }

  bool ends_with(token sampled_token) const;

  /// Changes nothing. Throws std::invalid_argument where `next` makes no sense, std::length_error where it does not
  /// fit.
  void check(const run& next) const;

  /// Throws std::bad_alloc, and has changed nothing then.
  void begin(run&& next, std::uint64_t arrival, time asked);

  /// Ends the run; what rows in flight bring is lost.
  void end();

  /// Back to the tokens from before the run.
  void undo();

  /// Only the first `length` tokens stay, and no more than that count as cached.
  void keep(int length);
};

}  // namespace cogen::scheduler
