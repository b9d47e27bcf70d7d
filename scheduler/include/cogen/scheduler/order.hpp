#pragma once

#include <cogen/scheduler/types.hpp>

#include <memory>

namespace cogen::scheduler {

/// What a policy sees of a sequence that waits.
struct candidate {
  sequence_id sequence;
  std::uint64_t arrival;  ///< counts runs as they were asked for
  int tokens;             ///< still to be prefilled
};

/// Who is served first among those that wait for a slot or for prefill. One policy, one file.
class order {
 public:
  virtual ~order() = default;

  /// A strict weak order: true when `a` is served before `b`. The answer for two candidates never changes; a candidate
  /// whose `tokens` have become fewer is another one. Those that are equal are served by arrival.
  virtual bool before(const candidate& a, const candidate& b) const noexcept = 0;
};

/// First come, first served.
std::unique_ptr<order> first_come();

}  // namespace cogen::scheduler
