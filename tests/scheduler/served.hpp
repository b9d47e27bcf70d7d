#pragma once

#include "simulation/toy_model.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <functional>
#include <limits>
#include <map>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// A scheduler whose plans run on the toy cache, with all its events.
class served {
 public:
  explicit served(const limits& within, std::unique_ptr<scheduling_policy> policy = fcfs(),
                  std::unique_ptr<preemption_policy> who = longest_idle(),
                  std::unique_ptr<allocation_policy> reserves = reserve_max_length());

  /// On a cache whose layers have a window.
  served(const limits& within, const toy::ring& rings);

  scheduler sched;
  toy::runner runner;
  std::vector<event> events;
  time now{0};
  std::function<bool(const row&)> fails = [](const row&) { return false; };
  std::function<bool(const checkpoint&)> refuses = [](const checkpoint&) { return false; };
  std::function<time(const cogen::scheduler::step&)> takes = [](const auto&) { return time(0); };

  /// next(), and the plan run.
  cogen::scheduler::step launch();

  /// absorb() of the oldest plan launched.
  std::vector<event> absorb();

  /// Keeps the events of a plan that was absorbed, and what they say was sampled.
  void record(const cogen::scheduler::step& done);

  /// The same of a late sample.
  void record(const late_sample& sample, const std::vector<event>& received);

  /// Both.
  cogen::scheduler::step step();

  /// All transfers on their way end. Whether there were any.
  bool end_transfers(bool ok = true);

  /// Steps, and the ends of transfers when no step is left, until there is nothing to do.
  void finish();

  const std::vector<token>& sampled(sequence_id id) { return sampled_[id]; }
  int count(sequence_id id, event::kind type) const;

 private:
  std::vector<cogen::scheduler::step> in_flight_;
  std::map<sequence_id, std::vector<token>> sampled_;
};

/// roomy(), with this number of slots and an idle timeout of 10.
limits crowded(int slots);

/// 0, 1, 2, … from `first`.
std::vector<token> counting(int count, token first = 0);

std::vector<token> joined(std::vector<token> front, const std::vector<token>& back);

/// An idle sequence of `count` tokens, all cached.
sequence_id prefilled(served& s, int count);

/// The sequence, which holds `held`, goes on as one does that is alone in the world.
void check_continues(served& s, sequence_id id, const std::vector<token>& held,
                     std::span<const token> encoder_input = {});

/// What a sequence samples that is alone in the world.
std::vector<token> alone(std::vector<token> prompt, int count, std::span<const token> encoder_input = {});

/// Limits with room for everything, blocks of 4 tokens of a byte each.
limits roomy();

/// roomy(), with shared prefixes and as many spare slots as slots.
limits sharing_limits(int slots, int max_rollback_tokens = std::numeric_limits<int>::max());

/// More tokens than a test waits for.
inline constexpr int plenty = 1000;

const row* row_of(const step& step, sequence_id id);
std::vector<token> tokens_of(const step& step, sequence_id id);
int tokens_in(const step& step);

}  // namespace cogen::scheduler
