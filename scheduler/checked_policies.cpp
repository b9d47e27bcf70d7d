#include "checked_policies.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::scheduler {
namespace {

constexpr const char* scheduling_order = "scheduling_policy::precedes()";
constexpr const char* preemption_order = "preemption_policy::precedes()";

std::int64_t checked_limit(const char* member, std::int64_t bytes, std::int64_t budget) {
  if (bytes >= 0 && bytes <= budget) return bytes;
  throw std::invalid_argument("allocation_policy::" + std::string(member) + "() returned " + std::to_string(bytes) +
                              "; it must be between 0 and the budget, " + std::to_string(budget));
}

}  // namespace

template <class Call>
void checked_counters::guard(const char* member, const Call& call) noexcept {
  breach_.guard(member, false, [&] { return call(), true; });
}

void checked_counters::leave(std::uint64_t tenant) noexcept {
  guard("fairness_counters::leave()", [&] { counters_->leave(tenant); });
}

void checked_counters::waits(std::uint64_t tenant, bool alone) noexcept {
  guard("fairness_counters::waits()", [&] { counters_->waits(tenant, alone); });
}

void checked_counters::scheduled(std::uint64_t tenant, std::int64_t tokens) noexcept {
  guard("fairness_counters::scheduled()", [&] { counters_->scheduled(tenant, tokens); });
}

void checked_counters::ran(std::uint64_t tenant, std::int64_t tokens, std::int64_t fed) noexcept {
  guard("fairness_counters::ran()", [&] { counters_->ran(tenant, tokens, fed); });
}

void checked_counters::dropped(std::uint64_t tenant, std::int64_t tokens) noexcept {
  guard("fairness_counters::dropped()", [&] { counters_->dropped(tenant, tokens); });
}

double checked_counters::mark(std::uint64_t tenant, turn resource) const noexcept {
  const char* const member = "fairness_counters::mark()";
  const double mark = breach_.guard(member, 0., [&] { return counters_->mark(tenant, resource); });
  if (!std::isnan(mark)) return mark;
  breach_.not_a_number(member);
  return 0;
}

bool checked_scheduling_policy::ask(const candidate& a, const candidate& b) const noexcept {
  return breach_.guard(scheduling_order, a.arrival < b.arrival, [&] { return policy_->precedes(a, b); });
}

bool checked_scheduling_policy::precedes(const candidate& a, const candidate& b) const noexcept {
  const bool first = ask(a, b);
  if (first && ask(b, a)) breach_.not_strict(scheduling_order, a.sequence, b.sequence);
  return first;
}

bool checked_scheduling_policy::displaces(const candidate& waits, const candidate& runs) const noexcept {
  return breach_.guard("scheduling_policy::displaces()", false, [&] { return policy_->displaces(waits, runs); });
}

bool checked_scheduling_policy::refuses_late() const noexcept {
  return breach_.guard("scheduling_policy::refuses_late()", false, [&] { return policy_->refuses_late(); });
}

bool checked_scheduling_policy::is_ahead(const candidate& a, const candidate& b) const noexcept {
  return precedes(a, b) || (!precedes(b, a) && a.arrival < b.arrival);
}

void checked_scheduling_policy::check_order(const candidate& a, const candidate& b) const noexcept {
  if (!is_ahead(a, b)) breach_.order_changed(scheduling_order, a.sequence, b.sequence);
}

bool checked_preemption_policy::ask(const holder& a, const holder& b) const noexcept {
  return breach_.guard(preemption_order, a.run.arrival < b.run.arrival, [&] { return policy_->precedes(a, b); });
}

bool checked_preemption_policy::precedes(const holder& a, const holder& b) const noexcept {
  const bool first = ask(a, b);
  if (first && ask(b, a)) breach_.not_strict(preemption_order, a.run.sequence, b.run.sequence);
  return first;
}

checked_allocation_policy::checked_allocation_policy(std::unique_ptr<allocation_policy> policy, std::int64_t budget,
                                                     policy_breach& breach)
    : policy_(std::move(policy)),
      high_(checked_limit("high", policy_->high(budget), budget)),
      low_(checked_limit("low", policy_->low(budget), budget)),
      breach_(breach) {}

int checked_allocation_policy::tokens(int needed, int most) const noexcept {
  return std::clamp(breach_.guard("allocation_policy::tokens()", needed, [&] { return policy_->tokens(needed, most); }),
                    needed, most);
}

}  // namespace cogen::scheduler
