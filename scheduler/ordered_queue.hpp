#pragma once

#include "run_order.hpp"

#include <cstdint>
#include <set>

namespace cogen::scheduler {

/// Tenants, represented by their first sequence, ordered by that sequence's mark.
struct by_mark {
  bool operator()(const sequence* a, const sequence* b) const;
};

/// Sequences that wait for the same thing. If the policy divides, tenants take turns by their marks. No member fails:
/// each sequence has its own nodes.
class ordered_queue {
 public:
  ordered_queue(checked_scheduling_policy& policy, turn resource);

  bool divided() const { return ledger_ != nullptr; }
  bool empty() const { return sequences_.empty(); }
  int size() const { return static_cast<int>(sequences_.size()); }
  bool has(const sequence& seq) const;
  bool has_any_of(std::uint64_t tenant) const { return leading(tenant) != nullptr; }

  /// Of a tenant that has a sequence, if the policy divides.
  double mark_of(std::uint64_t tenant) const { return ledger_->mark(tenant, resource_); }

  /// Null where there is none.
  sequence* first() const;

  /// The next one, as marks are now.
  sequence* after(const sequence& seq) const;

  void insert(sequence& added) noexcept;
  void remove(sequence& left) noexcept;

  /// The tenant's mark has changed.
  void take_mark(std::uint64_t tenant) noexcept;

  /// Throws std::logic_error if a tenant is not represented by its first sequence, or has another mark.
  void verify() const;

  /// All of them, tenant by tenant where the policy divides.
  const auto& sequences() const { return sequences_; }

 private:
  sequence* leading(std::uint64_t tenant) const;
  void check_neighbours(run_order::const_iterator place) const noexcept;
  void lead(sequence& first) noexcept;
  void follow(sequence& seq) noexcept;

  const checked_scheduling_policy& policy_;
  const fairness_counters* ledger_;
  turn resource_;
  run_order sequences_;
  std::set<sequence*, by_mark> leading_;  // the first of each tenant, if the policy divides
};

}  // namespace cogen::scheduler
