#include "engine/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

using enum admission_state;

bool is_inside(admission_state one) { return one != outside; }
bool has_had_slot(admission_state one) { return one == idle || one == working; }
bool has_work(admission_state one) { return one == queued || one == working; }

/// Never throws: without memory for the sentence there is a shorter one.
template <class... Values>
diagnostics full(fmt::format_string<Values...> sentence, Values&&... values) noexcept try {
  return {error::queue_full, fmt::format(sentence, std::forward<Values>(values)...)};
} catch (...) {
  return {error::queue_full, "the engine has no room for one more sequence"};
}

}  // namespace

admission::admission(int slots, int max_sequences, int max_waiting, std::function<void()> idle)
    : slots_(slots), max_sequences_(max_sequences), max_waiting_(max_waiting), idle_(std::move(idle)) {}

std::optional<diagnostics> admission::begin(admission_state& one, std::span<admission_state* const> others,
                                            bool accepted) noexcept {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(one, 1 + static_cast<int>(others.size()), accepted)) return refused;
  const auto next = has_had_slot(one) ? working : queued;
  enter(one, next);
  for (auto* const each : others) enter(*each, next);
  return std::nullopt;
}

std::optional<diagnostics> admission::refusal(admission_state of, int count, bool accepted) const {
  if (counts_.draining && !accepted)
    return diagnostics(error::draining, "the engine is draining: it ends what has begun and begins nothing more");
  if (!is_inside(of) && counts_.sequences + count > max_sequences_)
    return full(
        "the engine holds {} sequences, and {} of them wait for their first slot; {} more would exceed "
        "engine_options.limits.max_sequences, which is {}",
        counts_.sequences, counts_.waiting, count, max_sequences_);
  if (!has_had_slot(of) && of != queued && counts_.waiting + count > max_waiting_ + slots_ - slots_taken())
    return full(
        "{} sequences wait for their first slot, and {} of {} slots are taken; {} more would exceed "
        "engine_options.limits.max_waiting, which is {}",
        counts_.waiting, slots_taken(), slots_, count, max_waiting_);
  return std::nullopt;
}

/// Idle sequences give theirs up.
int admission::slots_taken() const { return std::min(slots_, counts_.at_work - counts_.waiting); }

void admission::schedule(admission_state& one) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_inside(one)) enter(one, has_work(one) ? working : idle);
}

void admission::end_work(admission_state& one) noexcept {
  end(one, [](admission_state now) { return has_had_slot(now) ? idle : is_inside(now) ? opened : outside; });
}

void admission::leave(admission_state& one) noexcept {
  end(one, [](admission_state) { return outside; });
}

template <class Next>
void admission::end(admission_state& one, Next next) noexcept {
  std::unique_lock lock(mutex_);
  const bool worked = has_work(one);
  enter(one, next(one));
  const bool was_last = worked && counts_.at_work == 0 && counts_.draining;
  lock.unlock();
  if (was_last) idle_();
}

void admission::fork(const admission_state& parent, admission_state& child) noexcept {
  const std::lock_guard lock(mutex_);
  enter(child, has_had_slot(parent) ? idle : is_inside(parent) ? opened : outside);
}

void admission::drain() noexcept {
  const std::lock_guard lock(mutex_);
  counts_.draining = true;
}

admission::counts admission::now() const noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void admission::enter(admission_state& one, admission_state next) noexcept {
  counts_.sequences += is_inside(next) - is_inside(one);
  counts_.waiting += (next == queued) - (one == queued);
  counts_.at_work += has_work(next) - has_work(one);
  one = next;
}

}  // namespace cogen::detail
