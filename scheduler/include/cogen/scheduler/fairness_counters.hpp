#pragma once

#include <cstdint>

namespace cogen::scheduler {

/// What tenants take turns at.
enum class turn : std::uint8_t {
  slot,     ///< among those that wait for one
  prefill,  ///< among those that have a slot
};

/// What tenants have had, in a unit of the policy's own: their marks. The tenant with the lowest mark has its turn.
/// Marks change in the members below only, and only those of the tenant named. None of them but join() may fail.
class fairness_counters {
 public:
  virtual ~fairness_counters() = default;

  /// A sequence of the tenant is accepted. The members below name only tenants that have one. Where this throws, it has
  /// changed nothing.
  virtual void join(std::uint64_t tenant) = 0;

  /// One of its sequences is gone.
  virtual void leave(std::uint64_t tenant) noexcept = 0;

  /// A run of the tenant is about to wait for a slot, and no other of its runs does; `alone`: nobody does at all.
  virtual void waits(std::uint64_t tenant, bool alone) noexcept = 0;

  /// The tenant, which has its turn, is given a slot for a run with so many tokens to be fed.
  virtual void scheduled(std::uint64_t tenant, std::int64_t tokens) noexcept = 0;

  /// Tokens of the tenant are run, `fed` of them out of those that scheduled() named.
  virtual void ran(std::uint64_t tenant, std::int64_t tokens, std::int64_t fed) noexcept = 0;

  /// So many of those that scheduled() named will not be run.
  virtual void dropped(std::uint64_t tenant, std::int64_t tokens) noexcept = 0;

  virtual double mark(std::uint64_t tenant, turn at) const noexcept = 0;
};

}  // namespace cogen::scheduler
