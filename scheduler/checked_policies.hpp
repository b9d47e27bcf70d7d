#pragma once

#include "policy_breach.hpp"

#include <cogen/policy.hpp>

#include <memory>

namespace cogen::scheduler {

// The caller's policies, in classes that throw nothing and record a breach of their contract. The breach outlives them.

class checked_counters final : public fairness_counters {
 public:
  /// `counters` may be null.
  checked_counters(fairness_counters* counters, policy_breach& breach) : counters_(counters), breach_(breach) {}

  bool any() const noexcept { return counters_ != nullptr; }

  void join(std::uint64_t tenant) override { counters_->join(tenant); }
  void leave(std::uint64_t tenant) noexcept override;
  void waits(std::uint64_t tenant, bool alone) noexcept override;
  void scheduled(std::uint64_t tenant, std::int64_t tokens) noexcept override;
  void ran(std::uint64_t tenant, std::int64_t tokens, std::int64_t fed) noexcept override;
  void dropped(std::uint64_t tenant, std::int64_t tokens) noexcept override;
  double mark(std::uint64_t tenant, turn resource) const noexcept override;

 private:
  template <class Call>
  void guard(const char* member, const Call& call) noexcept;

  fairness_counters* counters_;
  policy_breach& breach_;
};

class checked_scheduling_policy final : public scheduling_policy {
 public:
  checked_scheduling_policy(std::unique_ptr<scheduling_policy> policy, policy_breach& breach)
      : policy_(std::move(policy)), breach_(breach), counters_(policy_->divides(), breach) {}

  bool precedes(const candidate& a, const candidate& b) const noexcept override;
  bool displaces(const candidate& waits, const candidate& runs) const noexcept override;
  bool refuses_late() const noexcept override;
  fairness_counters* divides() noexcept override { return counters_.any() ? &counters_ : nullptr; }

  /// Whether `a` is served before `b`: equals by arrival.
  bool is_ahead(const candidate& a, const candidate& b) const noexcept;

  /// Records a breach if the order has changed since `a` was put before `b`.
  void check_order(const candidate& a, const candidate& b) const noexcept;

 private:
  bool ask(const candidate& a, const candidate& b) const noexcept;

  const std::unique_ptr<scheduling_policy> policy_;
  policy_breach& breach_;
  checked_counters counters_;
};

class checked_preemption_policy final : public preemption_policy {
 public:
  checked_preemption_policy(std::unique_ptr<preemption_policy> policy, policy_breach& breach)
      : policy_(std::move(policy)), breach_(breach) {}

  bool precedes(const holder& a, const holder& b) const noexcept override;

 private:
  bool ask(const holder& a, const holder& b) const noexcept;

  const std::unique_ptr<preemption_policy> policy_;
  policy_breach& breach_;
};

class checked_allocation_policy final : public allocation_policy {
 public:
  /// Throws std::invalid_argument for a limit that is not from 0 to `budget`, and what the policy throws.
  checked_allocation_policy(std::unique_ptr<allocation_policy> policy, std::int64_t budget, policy_breach& breach);

  int tokens(int needed, int most) const noexcept override;
  std::int64_t high(std::int64_t /*budget*/) const noexcept override { return high_; }
  std::int64_t low(std::int64_t /*budget*/) const noexcept override { return low_; }

 private:
  const std::unique_ptr<allocation_policy> policy_;
  const std::int64_t high_;
  const std::int64_t low_;
  policy_breach& breach_;
};

}  // namespace cogen::scheduler
