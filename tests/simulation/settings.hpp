#pragma once

#include "simulation/random.hpp"
#include "simulation/toy_model.hpp"

#include <cogen/scheduler/order.hpp>
#include <cogen/scheduler/reservation.hpp>

#include <map>
#include <memory>
#include <string>

namespace cogen::scheduler::simulate {

using simulation::random;

enum class policy { first_come, own, priority, fair_share, deadline, count };

/// What differs from one history to the next, drawn from its seed.
struct settings {
  limits within;
  toy::model model;
  toy::ring rings;
  int actions = 0;    ///< before everything is brought to an end
  int most_live = 0;  ///< sequences at the same time
  int failing = 0;    ///< percent of the rows
  int losing = 0;     ///< percent of the transfers
  bool forks = true;
  bool alike = false;       ///< most prompts begin alike, and slots are reused
  bool sources = false;     ///< most sequences have one
  bool branching = false;   ///< mostly short runs, forks and cuts, as in a search
  bool pressed = false;     ///< many sequences that go on again and again, and few slots
  bool growing = false;     ///< memory is set aside as sequences grow
  watermark_options marks;  ///< then
  policy rule = policy::first_come;
  time boost{};                             ///< of each level of priority
  std::map<std::uint64_t, double> weights;  ///< of the tenants that sequences have
};

settings draw(random& from);

/// The order of these settings. An own one follows from the id alone.
std::unique_ptr<order> make_order(const settings& of);

std::unique_ptr<reservation> make_reservation(const settings& of);

std::string describe(const settings& of);

}  // namespace cogen::scheduler::simulate
