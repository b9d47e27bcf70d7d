#pragma once

#include "simulation/coverage.hpp"
#include "simulation/settings.hpp"

#include <map>
#include <set>
#include <utility>

namespace cogen::scheduler::simulate {

/// Holds what tenants have had, counted from rows alone, against the bound of fair_share().
class fairness {
 public:
  fairness(const settings& setup, coverage& seen) : settings_(setup), seen_(seen) {}

  /// Tokens of the tenant were run for a sequence that may run so many until it leaves its slot.
  void ran(std::uint64_t tenant, int tokens) { tenants_[tenant].had += tokens / weight(tenant); }
  void stays(std::uint64_t tenant, int tokens);

  /// These tenants, and no others, have runs that wait for a slot. Throws std::logic_error beyond the bound.
  void look(const std::set<std::uint64_t>& waiting);

 private:
  struct account {
    double had = 0;  // tokens by weight
    int longest = 0;
  };
  struct range {
    double low;
    double high;
  };

  double weight(std::uint64_t tenant) const { return settings_.weights.at(tenant); }
  void compare(std::uint64_t a, std::uint64_t b);

  const settings& settings_;
  coverage& seen_;
  std::map<std::uint64_t, account> tenants_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, range> ahead_;  // of pairs that both wait, since they do
};

}  // namespace cogen::scheduler::simulate
