#include "ordered_queue.hpp"

#include "sequence.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace cogen::scheduler {

bool by_order::operator()(const sequence* a, const sequence* b) const {
  const auto &first = a->queued_as, &second = b->queued_as;
  if (divided && first.tenant != second.tenant) return first.tenant < second.tenant;
  return policy->is_ahead(first, second);
}

bool by_order::operator()(const sequence* a, std::uint64_t tenant) const { return a->queued_as.tenant < tenant; }

bool by_mark::operator()(const sequence* a, const sequence* b) const {
  if (a->mark != b->mark) return a->mark < b->mark;
  return a->queued_as.arrival < b->queued_as.arrival;
}

ordered_queue::ordered_queue(checked_scheduling_policy& policy, turn resource)
    : policy_(policy),
      ledger_(policy.divides()),
      resource_(resource),
      sequences_(by_order{&policy, ledger_ != nullptr}) {}

bool ordered_queue::has(const sequence& seq) const { return std::ranges::find(sequences_, &seq) != sequences_.end(); }

sequence* ordered_queue::leading(std::uint64_t tenant) const {
  const auto found = sequences_.lower_bound(tenant);
  return found != sequences_.end() && (*found)->queued_as.tenant == tenant ? *found : nullptr;
}

sequence* ordered_queue::first() const {
  if (empty()) return nullptr;
  return divided() ? *leading_.begin() : *sequences_.begin();
}

sequence* ordered_queue::after(const sequence& seq) const {
  const auto next = std::next(seq.nodes.place);
  const bool ends = next == sequences_.end();
  if (!divided() || (!ends && (*next)->queued_as.tenant == seq.queued_as.tenant)) return ends ? nullptr : *next;
  const auto other = leading_.upper_bound(leading(seq.queued_as.tenant));
  return other == leading_.end() ? nullptr : *other;
}

void ordered_queue::insert(sequence& added) noexcept {
  policy_.precedes(added.queued_as, added.queued_as);  // an order that is not strict is found with a single run
  const auto placed = added.nodes.place = sequences_.insert(std::move(added.nodes.ordered));
  if (!divided()) return;
  const auto same = [&](auto other) { return (*other)->queued_as.tenant == added.queued_as.tenant; };
  if (placed != sequences_.begin() && same(std::prev(placed))) return;
  if (const auto next = std::next(placed); next != sequences_.end() && same(next)) follow(**next);
  lead(added);
}

void ordered_queue::remove(sequence& left) noexcept {
  const bool led = left.leads;
  follow(left);
  check_neighbours(left.nodes.place);
  left.nodes.ordered = sequences_.extract(left.nodes.place);
  if (!led) return;
  if (auto* const next = leading(left.queued_as.tenant)) lead(*next);
}

/// Those between which it stands have to be in order without it.
void ordered_queue::check_neighbours(run_order::const_iterator place) const noexcept {
  const auto next = std::next(place);
  if (place == sequences_.begin() || next == sequences_.end()) return;
  const auto &previous = (*std::prev(place))->queued_as, &after = (*next)->queued_as;
  if (!divided() || previous.tenant == after.tenant) policy_.check_order(previous, after);
}

void ordered_queue::take_mark(std::uint64_t tenant) noexcept {
  auto* const first = leading(tenant);
  if (!first || first->mark == mark_of(tenant)) return;
  follow(*first);
  lead(*first);
}

void ordered_queue::verify() const {
  if (!divided()) return;
  std::size_t tenants = 0;
  for (const auto* each : sequences_) {
    const bool first = leading(each->queued_as.tenant) == each;
    tenants += first;
    if (each->leads != first) throw std::logic_error("a tenant does not stand with its first sequence");
    if (first && each->mark != mark_of(each->queued_as.tenant))
      throw std::logic_error("a tenant does not stand at its mark");
  }
  if (tenants != leading_.size()) throw std::logic_error("a tenant is missing or queued twice");
}

void ordered_queue::lead(sequence& first) noexcept {
  first.mark = mark_of(first.queued_as.tenant);
  first.leads = true;
  leading_.insert(std::move(first.nodes.leading));
}

void ordered_queue::follow(sequence& seq) noexcept {
  if (std::exchange(seq.leads, false)) seq.nodes.leading = leading_.extract(&seq);
}

}  // namespace cogen::scheduler
