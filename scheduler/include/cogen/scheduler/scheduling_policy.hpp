#pragma once

#include <cogen/scheduler/fairness_counters.hpp>
#include <cogen/scheduler/types.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>

namespace cogen::scheduler {

/// What a policy sees of a run that waits.
struct candidate {
  sequence_id sequence{};
  std::uint64_t arrival = 0;  ///< counts runs as they were asked for
  time asked{};               ///< when it was asked for
  int tokens = 0;             ///< still to be prefilled
  std::int64_t most = 0;      ///< tokens that it may still run: those, and all that it may sample
  int priority = 0;           ///< of the sequence's options, as the two below
  std::uint64_t tenant = 0;
  time deadline = time::max();
};

/// Who is served first among those that wait for a slot or for prefill. One policy, one file; bring your own by
/// deriving from this. Only before() must be there.
class scheduling_policy {
 public:
  virtual ~scheduling_policy() = default;

  /// A strict weak order: true when `a` is served before `b`. The answer for two candidates never changes; a candidate
  /// whose `tokens` have become fewer is another one. Those that are equal are served by arrival.
  virtual bool before(const candidate& a, const candidate& b) const noexcept = 0;

  /// Whether `waits`, for which there is no room, takes the slot of `runs`, which is preempted for it. Only where
  /// before() puts `waits` first, too.
  virtual bool displaces(const candidate& /*waits*/, const candidate& /*runs*/) const noexcept { return false; }

  /// True: a run that would end after its deadline is refused with deadline_unreachable, as far as that can be told:
  /// from the time that a token took in steps that could not hold all there was to do, and the tokens of this run, of
  /// those that before() puts ahead of it and of those that decode. What they will sample is taken to be what runs
  /// sampled so far. Newer steps and runs count more. Nobody is refused before there was such a step. Looking takes
  /// time in proportion to the runs ahead.
  virtual bool refuses_late() const noexcept { return false; }

  /// What tenants have had, for a policy that divides between them: before() then decides among the runs of one tenant
  /// alone. The same each time, and lives as long as the order. Null: nothing is divided.
  virtual fairness_counters* divides() noexcept { return nullptr; }
};

/// First come, first served.
std::unique_ptr<scheduling_policy> fcfs();

/// Higher priority first, and nobody starves: each level of priority counts as having come `boost` earlier. A run is
/// overtaken by those that have n levels more and come at most n * boost after it, and by no others. Those displace it,
/// too, where there is no room for them; it then waits for a slot at its old place. Throws std::invalid_argument for a
/// negative boost.
std::unique_ptr<scheduling_policy> by_priority(time boost = std::chrono::seconds(10));

/// Each tenant gets tokens in proportion to its weight, and its own runs are served as they come. Tenants that
/// `weights` does not name have `other_weight`.
///
/// This is start-time fair queueing (Goyal, Vin, Cheng, SIGCOMM 1996), charged for tokens as they are run, like the
/// virtual token counter (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024). F is what was run of a
/// tenant divided by its weight, v the most that F was when its tenant was given a slot; where nobody waits for one, v
/// is the largest F of all. F is raised to v when the tenant begins to wait. Prefill goes to the tenant with the
/// smallest F, a slot to the one with the smallest F when the prompts that have slots are counted as run already. While
/// tenants f and g both have runs that wait for a slot, what is run of the two differs by
///
///   |W_f / w_f - W_g / w_g| <= 2 * slots * (l_f / w_f + l_g / w_g),
///
/// w being weights and l the most tokens that a sequence of the tenant runs from when it takes a slot until it leaves
/// it: the first paper's theorem 1, for a server of up to `slots` runs at once whose lengths are not known before.
/// While nobody waits for a slot, prefill alone is divided. Tenants that come for the first time come in at v, however
/// many they are. One without sequences is remembered while its F is above v; where that are more than 65,536, they may
/// all be forgotten.
///
/// Throws std::invalid_argument for a weight that is not above 0, or not finite.
std::unique_ptr<scheduling_policy> fair_share(std::map<std::uint64_t, double> weights = {}, double other_weight = 1);

/// The earliest deadline first; those without one come last, as they came. Refuses what would come too late.
std::unique_ptr<scheduling_policy> earliest_deadline_first();

}  // namespace cogen::scheduler
