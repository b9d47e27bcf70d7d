#pragma once

// The policies that engine_options::policies selects, and what an own one derives from.
#include <cogen/detail/scheduler/types.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

namespace cogen::scheduler {

/// What tenants take turns at.
enum class turn : std::uint8_t {
  slot,     ///< getting a slot, among tenants that wait for one
  prefill,  ///< prefill, among tenants that hold a slot
};

/// Counts the service that each tenant has received, in the policy's own unit: its mark, never NaN. The tenant
/// with the lowest mark is served next. Only the members below change marks, and only the mark of the tenant they name.
/// An exception from join() refuses the sequence; one from another member is a breach of the policy's contract.
class fairness_counters {
 public:
  virtual ~fairness_counters() = default;

  /// A sequence of the tenant was accepted. The other members name only tenants that have a sequence. If this throws,
  /// it has changed nothing.
  virtual void join(std::uint64_t tenant) = 0;

  /// One of its sequences has ended.
  virtual void leave(std::uint64_t tenant) = 0;

  /// A run of the tenant is about to wait for a slot, and none of its other runs waits. `alone`: no tenant has a run
  /// that waits.
  virtual void waits(std::uint64_t tenant, bool alone) = 0;

  /// The tenant, whose turn it is, gets a slot for a run with `tokens` tokens to feed.
  virtual void scheduled(std::uint64_t tenant, std::int64_t tokens) = 0;

  /// The tenant ran `tokens` tokens; `fed` of them were among those counted by scheduled().
  virtual void ran(std::uint64_t tenant, std::int64_t tokens, std::int64_t fed) = 0;

  /// `tokens` of the tokens counted by scheduled() will not run.
  virtual void dropped(std::uint64_t tenant, std::int64_t tokens) = 0;

  /// The tenant's mark when it takes turns at this.
  virtual double mark(std::uint64_t tenant, turn resource) const = 0;
};

/// What a policy sees of a waiting run.
struct candidate {
  sequence_id sequence{};
  std::uint64_t arrival = 0;  ///< counts runs in the order they were requested
  time asked{};               ///< when it was requested
  int tokens = 0;             ///< still to be prefilled
  std::int64_t most = 0;      ///< tokens it may still run: those and all it may sample
  int priority = 0;           ///< of the sequence's options, as are the two below
  std::uint64_t tenant = 0;
  time deadline = time::max();
};

/// Which run is served first among those that wait for a slot or for prefill. Derive from this class to add a policy.
/// Only precedes() has to be overridden.
///
/// After an exception from a policy or its counters, or if its order is found not to be a strict weak ordering, the
/// scheduler orders runs by arrival, and next() throws std::logic_error with what the policy did. That ends an engine
/// with error::device_failed.
class scheduling_policy {
 public:
  virtual ~scheduling_policy() = default;

  /// A strict weak ordering: true if `a` is served before `b`. The result for two candidates never changes; a candidate
  /// whose `tokens` has decreased is another candidate. Equal candidates are served by arrival.
  virtual bool precedes(const candidate& a, const candidate& b) const = 0;

  /// Whether `waits`, for which there is no room, takes the slot of `runs`, which is then preempted. Asked only if
  /// precedes() puts `waits` first; if the policy divides, of runs of two tenants, only if that of `runs` holds two
  /// slots more, or yet more. A run that was displaced itself displaces only those that were requested, or granted
  /// credits, after that; so every run makes progress, also if its place in the order changes as it runs.
  virtual bool displaces(const candidate& /*waits*/, const candidate& /*runs*/) const { return false; }

  /// True: refuses a run with deadline_unreachable if it would end after its deadline, as far as can be estimated. The
  /// estimate multiplies the time per token in full steps by the tokens of this run, of those that precedes() puts
  /// ahead of it and of those that decode. Future samples are estimated from the lengths of past runs; newer steps and
  /// runs weigh more. Nothing is refused before the first full step. Takes time in proportion to the runs ahead.
  virtual bool refuses_late() const { return false; }

  /// The service counters of tenants, for a policy that divides service between them; precedes() then orders the runs
  /// of one tenant only. Asked once; valid as long as the policy. Null: no division.
  virtual fairness_counters* divides() { return nullptr; }
};

/// First come, first served.
std::unique_ptr<scheduling_policy> fcfs();

/// Higher priority first, without starvation: each priority level counts as having arrived `boost` earlier. A run is
/// overtaken only by runs that are n levels higher and arrive at most n * boost later. Those displace it, too, if there
/// is no room for them; it then waits for a slot at its old place. Throws std::invalid_argument for a negative boost.
std::unique_ptr<scheduling_policy> by_priority(time boost = std::chrono::seconds(10));

/// Gives tenants tokens in proportion to their weights; the runs of one tenant are served in order of arrival. Tenants
/// not in `weights` have `other_weight`.
///
/// This is start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996), charged for tokens as they run, like the virtual
/// token counter (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024). F is what a tenant has run,
/// divided by its weight. v is the largest F that a tenant had when it was given a slot; while none waits for a slot, v
/// is the largest F of all. When a tenant begins to wait, its F is raised to v. Prefill goes to the tenant with the
/// smallest F. A slot goes to the tenant with the smallest F when the prompts that hold slots are counted as run. While
/// tenants f and g both have runs that wait for a slot, their service differs by
///
///     |W_f / w_f - W_g / w_g| <= 2 * slots * (l_f / w_f + l_g / w_g),
///
/// where W is the service, w the weight, and l the most tokens that a sequence of the tenant runs while it holds a
/// slot. This is the first paper's theorem 1 for a server of up to `slots` concurrent runs of unknown lengths. While
/// none waits for a slot, only prefill is divided. A tenant whose turn it is, and which finds no free slot, takes one
/// of a tenant that holds two more, or yet more: that of its latest decoding run, which waits. New tenants start at v,
/// however many they are. A tenant without sequences is remembered while its F is above v; if there are more than
/// 65,536 of them, all of them may be forgotten.
///
/// Throws std::invalid_argument for a weight that is not positive and finite.
std::unique_ptr<scheduling_policy> fair_share(std::map<std::uint64_t, double> weights = {}, double other_weight = 1);

/// Earliest deadline first; runs without a deadline come last, in order of arrival. Refuses runs that would end too
/// late.
std::unique_ptr<scheduling_policy> earliest_deadline_first();

/// What a policy sees of a sequence that holds a slot.
struct holder {
  candidate run;              ///< its newest run
  std::optional<time> since;  ///< idle since then; empty while it runs
  int cached = 0;             ///< tokens in its slot, to be swapped out or recomputed
  std::int64_t bytes = 0;     ///< reserved for it
};

/// Which sequence is preempted first: among those idle for longer than limits.idle_timeout, and then among those that
/// are last in the scheduling order and that it lets be displaced. Derive from this class to add a policy. After an
/// exception from it, or if its order is found not to be strict, scheduler::next() throws std::logic_error, which ends
/// an engine with error::device_failed.
class preemption_policy {
 public:
  virtual ~preemption_policy() = default;

  /// A strict weak ordering: true if `a` is preempted before `b`. Among equals, the one idle longest is preempted
  /// first.
  virtual bool precedes(const holder& a, const holder& b) const = 0;
};

/// Preempts the sequence that has been idle longest.
std::unique_ptr<preemption_policy> longest_idle();

/// Preempts the sequence that is cheapest to resume: the one with the fewest cached tokens.
std::unique_ptr<preemption_policy> least_cached();

/// Preempts the sequence that frees the most memory, so that few have to be preempted.
std::unique_ptr<preemption_policy> largest();

/// How much memory is reserved for sequences that hold slots. Derive from this class to add a policy. After an
/// exception from it, scheduler::next() throws std::logic_error, which ends an engine with error::device_failed.
class allocation_policy {
 public:
  virtual ~allocation_policy() = default;

  /// Tokens to reserve memory for. The sequence has to hold `needed` tokens now and can hold at most `most`. The
  /// scheduler clamps the result to [needed, most].
  virtual int tokens(int needed, int most) const = 0;

  // Asked once, by the scheduler's constructor, which throws std::invalid_argument unless 0 <= result <= budget.

  /// Bytes of `budget` that may be reserved when another sequence is given a slot beside others, or when a prefix is
  /// kept.
  virtual std::int64_t high(std::int64_t budget) const { return budget; }

  /// Bytes of `budget` at which preemption stops. It begins when a sequence grows and no memory is left.
  virtual std::int64_t low(std::int64_t budget) const { return budget; }
};

/// Reserves all that a sequence can ever hold when it is given its slot. No sequence is ever preempted for another's
/// growth.
std::unique_ptr<allocation_policy> reserve_max_length();

/// The limits of watermarks().
struct watermark_options {
  double high = 0.9;  ///< fraction of the budget up to which slots are given
  double low = 0.8;   ///< fraction of the budget down to which sequences are preempted once it is spent
  int step = 256;     ///< extra tokens reserved each time a sequence grows
};

/// Reserves what a sequence has to hold next plus `step` tokens, so more sequences run at once than could all finish.
/// When the budget is spent, idle sequences are preempted, then the running ones that are last in scheduling order.
/// What they have cached is swapped out, or recomputed. The first in order is never preempted for another sequence.
///
/// Throws std::invalid_argument unless 0 < low <= high <= 1 and step >= 0.
std::unique_ptr<allocation_policy> watermarks(const watermark_options& options = {});

}  // namespace cogen::scheduler
