#pragma once

#include "scheduler/no_memory.hpp"
#include "simulation/coverage.hpp"
#include "simulation/fairness.hpp"
#include "simulation/mirror.hpp"
#include "simulation/outlook.hpp"
#include "simulation/script.hpp"
#include "simulation/settings.hpp"

#include <deque>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace cogen::scheduler::simulate {

/// The real scheduler on a toy cache, beside what ought to happen. Every verb checks what it brings about, and throws
/// std::logic_error where that is not what the contract says.
class world {
 public:
  world(const settings& setup, random& chance, coverage& seen, simulation::log log);

  // Verbs. Those on a sequence may be called in any state, also for one that is gone.
  void submit(const sequence_options& options, const run& first);
  void submit(const sequence_options& options);
  void start(sequence_id id, const run& next);
  void grant(sequence_id id, int credits);
  void propose(sequence_id id);
  void run_ahead(sequence_id id, bool allowed);
  void abandon(sequence_id id);
  void cancel(sequence_id id);
  void fork(sequence_id id);
  void truncate(sequence_id id, int length);
  void suspend(sequence_id id);

  /// What the sequence is and has cached is saved, now or when its transfer ends, where it is idle.
  void copy_out(sequence_id id);

  /// One that was saved is accepted again. False when there is none.
  bool open();

  /// What is kept of ended sequences is copied out, and saved when the transfers end.
  void save_prefixes();

  /// A prefix that was saved is restored, if there is room. False when there is none.
  bool restore_prefix();

  /// Time goes on while nothing is done.
  void advance_clock(time delay);

  /// Plans and runs a step; rows fail by chance. False when there was nothing to do, or too much is in flight.
  bool launch();

  /// Absorbs the oldest plan in flight, if there is one.
  void absorb();

  /// What a late row sampled is known, or that it failed. False when there was none.
  bool end_late();

  /// One of the transfers on their way ends, or fails by chance. False when there was none.
  bool end_transfer();

  /// Brings everything to an end: rows fail no more, credits are granted, idle sequences cancelled.
  void drain();

  std::vector<sequence_id> live() const;
  const std::vector<sequence_id>& gone() const { return gone_; }
  const mirror* find(sequence_id id) const;
  int in_flight() const { return static_cast<int>(in_flight_.size()); }
  bool has_late() const { return !late_.empty(); }
  time now() const { return now_; }

 private:
  struct row_flown {
    std::uint64_t run;
    int end;
  };
  struct late_row {
    late_sample sample;
    std::uint64_t run;
    int begin;
    int drafts;
  };
  struct session {
    sequence_options options;
    resume_state history;
    toy::cache::snapshot snapshot;
  };
  struct saved_prefix {
    cached_prefix prefix;
    toy::cache::snapshot snapshot;
  };
  struct flown {
    cogen::scheduler::step step;
    std::vector<row_flown> rows;
  };

  /// Memory is refused to the verb by chance, once: it has changed nothing then.
  template <class Verb>
  auto when_memory_allows(const Verb& verb) {
    if (!chance_.chance(10)) return verb();
    try {
      const no_memory none(chance_.between(0, 15));
      return verb();
    } catch (const std::bad_alloc&) {
      seen_.visit(feature::memory_refused);
      machine_.verify();
    }
    return verb();
  }

  void say(const std::string& message) const;

  /// With the tokens that the sequence's tenant says instead.
  sequence_options as_named(sequence_options options) const;
  std::vector<token> as_named(const sequence_options& options, std::vector<token> tokens) const;

  void visit(sequence_id id, verb action);
  int capacity_of(const sequence_options& options, const run* first) const;
  void accepted(sequence_id id, mirror added);
  void forget(sequence_id id);
  void describe_plan(const step& step) const;
  void check_rows(flown& flight);
  row_flown check_row(const step& plan, const row& planned, std::span<const token> content);
  void check_drafts(const step& plan, const row& planned, const mirror& seq, bool is_last);
  struct mark {
    bool shared;
    cogen::scheduler::cache_salt cache_salt;
    bool operator==(const mark&) const = default;
  };
  void note_marks(const step& plan);
  void note_prefix_hit(const row& planned, int begin, const mirror& seq);
  void check_service(const step& plan, const std::set<sequence_id>& waited);
  void check_prefill(const std::set<sequence_id>& prefilling, const std::set<sequence_id>& served,
                     const std::set<sequence_id>& waited);
  void check_idle_timeout(const step& plan, int tokens, sequence_id id, mirror& seq);
  void check_waiting(bool nothing_planned);
  void check_no_overtaking(const std::set<sequence_id>& waited);
  void note_scheduled();
  void note_rest();
  bool is_idle(sequence_id id) const;
  bool idle_long_enough(const mirror& seq) const;
  void check_preempted(const std::set<sequence_id>& waited);
  bool was_displaced(sequence_id id, const mirror& seq, const std::set<sequence_id>& waited) const;
  bool has_another_above(sequence_id id) const;
  void check_ranks() const;
  bool has_to_leave_to(sequence_id head, sequence_id id) const;
  std::ptrdiff_t slots_of(std::uint64_t tenant) const;
  void note_transfers(const step& plan);
  void end_copy(swap_id name, bool ok);
  void end_prefix_transfer(swap_id name, bool ok);
  void keep_session(session added);
  void check_swapped() const;
  void check_idle_timeout_of_others(bool nothing_planned) const;
  void check_memory();
  void check_account_without_forks() const;
  void check_short(const step& plan);
  void check_sequences();
  void check_transitions();
  void check_busy_slots() const;
  void check_empty();
  std::vector<event> expected_of(const late_row& late);
  void check_events(std::span<const event> received, std::span<const event> expected) const;
  bool comes_late(const row& row, const mirror* seq);
  void count_features(const step& step);
  std::set<sequence_id> waiting() const;
  bool precedes(sequence_id a, sequence_id b) const;
  bool may_overtake(sequence_id later, sequence_id overtaken) const;
  std::vector<sequence_id> firsts(const std::set<sequence_id>& ids) const;
  bool fits(sequence_id id) const;
  bool any_is_short() const;
  bool accepted_time(mirror& begun, bool somewhere, const std::function<void()>& verb);
  void check_lateness(const mirror& begun, bool somewhere, std::optional<time> refused) const;
  bool is_somewhere(sequence_id id) const;
  double tokens_to_run(const mirror& seq, bool somewhere) const;
  double tokens_until_end(const mirror& begun, bool somewhere) const;
  bool left_behind(const step& plan) const;
  void look_at_shares();

  const settings settings_;
  random& chance_;
  coverage& seen_;
  const simulation::log log_;
  scheduler machine_;
  toy::runner runner_;
  std::map<sequence_id, mirror> live_;
  std::vector<sequence_id> gone_;
  std::map<int, mark> marks_;                            ///< of what slots hold
  std::map<sequence_id, std::pair<status, int>> slots_;  ///< of live ones, as their transitions said
  int kept_ = 0;                                         ///< slots, before the plan
  std::deque<flown> in_flight_;
  std::vector<late_row> late_;
  std::map<swap_id, session> copies_;  ///< on their way
  std::deque<session> sessions_;
  std::map<swap_id, saved_prefix> prefix_copies_;  ///< on their way
  std::deque<saved_prefix> prefixes_;
  std::map<swap_id, mark> restored_;  ///< on their way
  fairness fairness_{settings_, seen_};
  outlook outlook_;
  time now_{0};
  std::uint64_t preempted_ = 0;
  std::uint64_t swapped_ = 0;
  std::uint64_t runs_ = 0;
  std::uint64_t requests_ = 0;  // runs begun and credits granted
  std::uint64_t plans_ = 0;
  int failing_;
  int losing_;
  sequence_id first_prefilling_{0};
  int first_unserved_ = 0;
  int head_fits_ = 0;  ///< plans in a row after which the first that waits would have fitted
};

}  // namespace cogen::scheduler::simulate
