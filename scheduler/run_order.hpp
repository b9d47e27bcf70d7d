#pragma once

#include "checked_policies.hpp"

#include <cstdint>
#include <set>

namespace cogen::scheduler {

struct sequence;

/// By the policy if it does not divide; else by tenant, and the runs of one tenant by the policy.
struct by_order {
  using is_transparent = void;

  const checked_scheduling_policy* policy = nullptr;
  bool divided = false;

  bool operator()(const sequence* a, const sequence* b) const;
  bool operator()(const sequence* a, std::uint64_t tenant) const;
};

/// Holds runs in order; also with a policy that contradicts itself, no run is lost.
using run_order = std::multiset<sequence*, by_order>;

}  // namespace cogen::scheduler
