#pragma once

#include "simulation/random.hpp"
#include "simulation/toy_model.hpp"

#include <cogen/policy.hpp>
#include <cogen/scheduler/scheduler.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace cogen::scheduler::simulate {

using simulation::random;

enum class policy { fcfs, own, priority, fair_share, deadline, count };

/// What differs from one history to the next, sampled from its seed.
struct settings {
  limits within;
  toy::model model;
  toy::ring rings;
  int actions = 0;   ///< before everything is brought to an end
  int max_live = 0;  ///< sequences at the same time
  int failing = 0;   ///< percent of the rows
  int losing = 0;    ///< percent of the transfers
  int late = 0;      ///< percent of the rows that sample
  bool forks = true;
  bool alike = false;           ///< most prompts begin alike, and slots are reused
  bool encoder_inputs = false;  ///< most sequences have one
  bool branching = false;       ///< mostly short runs, forks and cuts, as in a search
  bool pressed = false;         ///< many sequences that go on again and again, and few slots
  bool growing = false;         ///< memory is set aside as sequences grow
  watermark_options marks;      ///< then
  policy rule = policy::fcfs;
  bool displacing = false;                  ///< those that run after one that waits give way to it
  time boost{};                             ///< of each level of priority
  std::map<std::uint64_t, double> weights;  ///< of the tenants that sequences have

  /// Whose tokens are all others than the history says: each the one as far from the vocabulary's other end.
  std::optional<std::uint64_t> reversed_tenant = {};

  /// The model of a sequence. What shares a salt with other tenants is as the history says.
  toy::model model_of(const sequence_options& options) const {
    return {model.vocabulary, reversed_tenant && options.cache_salt == cache_salt(*reversed_tenant)};
  }
};

settings draw(random& chance);

/// The order of these settings. An own one follows from the id alone.
std::unique_ptr<scheduling_policy> make_scheduling_policy(const settings& setup);

std::unique_ptr<allocation_policy> make_allocation_policy(const settings& setup);

std::string describe(const settings& setup);

}  // namespace cogen::scheduler::simulate
