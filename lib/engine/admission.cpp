#include "engine/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace cogen::detail {
namespace {

using enum admission_stage;

bool is_inside(admission_stage stage) { return stage != outside; }
bool has_had_slot(admission_stage stage) { return stage == idle || stage == working; }
bool has_work(admission_stage stage) { return stage == queued || stage == working; }

/// Never throws: without memory for the message there is a shorter one.
template <class... Values>
diagnostics full(fmt::format_string<Values...> message, Values&&... values) noexcept try {
  return {error::queue_full, fmt::format(message, std::forward<Values>(values)...)};
} catch (...) {
  return {error::queue_full, "the engine has no room for one more sequence"};
}

}  // namespace

admission::admission(int slots, int max_sequences, int max_waiting, std::function<void()> idle)
    : slots_(slots), max_sequences_(max_sequences), max_waiting_(max_waiting), idle_(std::move(idle)) {}

std::optional<diagnostics> admission::begin(admission_state& state, std::span<admission_state* const> peers,
                                            bool accepted) noexcept try {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(state, 1 + static_cast<int>(peers.size()), accepted)) return refused;
  const auto next = has_had_slot(state.stage) ? working : queued;
  if (next == queued) waiting_.try_emplace(state.tenant);
  enter(state, next);
  for (auto* const peer : peers) enter(*peer, next);
  return std::nullopt;
} catch (const std::bad_alloc&) {
  return diagnostics(error::out_of_memory);
}

std::optional<diagnostics> admission::refusal(const admission_state& state, int count, bool accepted) const {
  if (counts_.draining && !accepted)
    return diagnostics(error::draining, "the engine is draining: it ends what has begun and begins nothing more");
  if (!is_inside(state.stage) && counts_.sequences + count > max_sequences_)
    return full("the engine holds too many sequences for {} more: it may hold {}", count, max_sequences_);
  const bool would_wait = !has_had_slot(state.stage) && state.stage != queued;
  const bool is_full = counts_.waiting + count > max_waiting_ + slots_ - slots_taken();
  if (would_wait && is_full && !has_share(state.tenant, count))
    return full("too many sequences wait for their first slot for {} more: {} may wait", count, max_waiting_);
  return std::nullopt;
}

/// Whether the tenant, with so many more, would have at most an equal share of the places in the queue.
bool admission::has_share(std::uint64_t tenant, int count) const {
  const auto own = waiting_.find(tenant);
  const bool is_new = own == waiting_.end();
  const auto tenants = std::ssize(waiting_) + (is_new ? 1 : 0);
  return tenants * (count + (is_new ? 0 : own->second)) <= max_waiting_;
}

/// Idle sequences give theirs up.
int admission::slots_taken() const { return std::min(slots_, counts_.at_work - counts_.waiting); }

void admission::schedule(admission_state& state) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_inside(state.stage)) enter(state, has_work(state.stage) ? working : idle);
}

void admission::end_work(admission_state& state) noexcept {
  end(state, [](admission_stage now) { return has_had_slot(now) ? idle : is_inside(now) ? opened : outside; });
}

void admission::leave(admission_state& state) noexcept {
  end(state, [](admission_stage) { return outside; });
}

template <class Next>
void admission::end(admission_state& state, Next next) noexcept {
  std::unique_lock lock(mutex_);
  const bool worked = has_work(state.stage);
  enter(state, next(state.stage));
  const bool was_last = worked && counts_.at_work == 0 && counts_.draining;
  lock.unlock();
  if (was_last) idle_();
}

void admission::fork(const admission_state& parent, admission_state& child) noexcept {
  const std::lock_guard lock(mutex_);
  enter(child, has_had_slot(parent.stage) ? idle : is_inside(parent.stage) ? opened : outside);
}

void admission::drain() noexcept {
  const std::lock_guard lock(mutex_);
  counts_.draining = true;
}

admission::counts admission::now() const noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void admission::enter(admission_state& state, admission_stage next) noexcept {
  const auto previous = std::exchange(state.stage, next);
  const int more_wait = (next == queued) - (previous == queued);
  counts_.sequences += is_inside(next) - is_inside(previous);
  counts_.waiting += more_wait;
  counts_.at_work += has_work(next) - has_work(previous);
  const auto own = more_wait != 0 ? waiting_.find(state.tenant) : waiting_.end();
  if (own != waiting_.end() && (own->second += more_wait) == 0) waiting_.erase(own);
}

}  // namespace cogen::detail
