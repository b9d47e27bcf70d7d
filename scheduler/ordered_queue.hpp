#pragma once

#include <cogen/scheduler/scheduling_policy.hpp>

#include <cstdint>
#include <set>

namespace cogen::scheduler {

struct sequence;

/// Whether `a` is served before `b`: equals by arrival.
bool precedes(const scheduling_policy& by, const candidate& a, const candidate& b);

/// By the policy if it does not divide; else by tenant, and the runs of one tenant by the policy.
struct by_order {
  using is_transparent = void;

  const scheduling_policy* policy;
  bool divided;

  bool operator()(const sequence* a, const sequence* b) const;
  bool operator()(const sequence* a, std::uint64_t tenant) const;
};

/// Tenants, represented by their first sequence, ordered by that sequence's mark.
struct by_mark {
  bool operator()(const sequence* a, const sequence* b) const;
};

/// Sequences that wait for the same thing. If the policy divides, tenants take turns by their marks. No member fails:
/// each sequence has its own nodes.
class ordered_queue {
 public:
  ordered_queue(scheduling_policy& policy, turn at);

  bool divided() const { return ledger_ != nullptr; }
  bool empty() const { return all_.empty(); }
  int size() const { return static_cast<int>(all_.size()); }
  bool has(const sequence& each) const;
  bool has_any_of(std::uint64_t tenant) const { return leading(tenant) != nullptr; }

  /// Null where there is none.
  sequence* first() const;

  /// The next one, as marks are now.
  sequence* after(const sequence& each) const;

  void insert(sequence& added) noexcept;
  void remove(sequence& left) noexcept;

  /// The tenant's mark has changed.
  void take_mark(std::uint64_t tenant) noexcept;

  /// Throws std::logic_error if a tenant is not represented by its first sequence, or has another mark.
  void verify() const;

  /// All of them, tenant by tenant where the policy divides.
  const auto& all() const { return all_; }

 private:
  sequence* leading(std::uint64_t tenant) const;
  void lead(sequence& first) noexcept;
  void follow(sequence& seq) noexcept;

  double mark_of(std::uint64_t tenant) const { return ledger_->mark(tenant, at_); }

  const fairness_counters* ledger_;
  turn at_;
  std::set<sequence*, by_order> all_;
  std::set<sequence*, by_mark> leading_;  // the first of each tenant, if the policy divides
};

}  // namespace cogen::scheduler
