#pragma once

#include "simulation/random.hpp"
#include "simulation/toy_model.hpp"

#include <cogen/scheduler/order.hpp>

#include <memory>
#include <string>

namespace cogen::scheduler::simulate {

/// What differs from one history to the next, drawn from its seed.
struct settings {
  limits within;
  toy::model model;
  int actions = 0;    ///< before everything is brought to an end
  int most_live = 0;  ///< sequences at the same time
  int failing = 0;    ///< percent of the rows
  int losing = 0;     ///< percent of the transfers
  bool forks = true;
  bool sources = false;     ///< most sequences have one
  bool branching = false;   ///< mostly short runs, forks and cuts, as in a search
  bool pressed = false;     ///< many sequences that go on again and again, and few slots
  bool priorities = false;  ///< instead of first come
};

settings draw(random& from);

/// The order of these settings. Priorities follow from the id alone, so that the simulator can tell them as well.
std::unique_ptr<order> make_order(const settings& of);

std::string describe(const settings& of);

}  // namespace cogen::scheduler::simulate
