#pragma once

#include <cstdint>

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

}  // namespace cogen::scheduler
