#include "engine/admission.hpp"

#include <fmt/format.h>

#include <utility>

namespace cogen::detail {

admission::admission(int max_sequences, int max_waiting, std::function<void()> idle)
    : max_sequences_(max_sequences), max_waiting_(max_waiting), idle_(std::move(idle)) {}

std::optional<diagnostics> admission::begin(place& seq) noexcept {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(seq)) return refused;
  if (!std::exchange(seq.taken, true)) ++counts_.sequences;
  if (!seq.scheduled && !std::exchange(seq.waiting, true)) ++counts_.waiting;
  if (!std::exchange(seq.at_work, true)) ++counts_.at_work;
  return std::nullopt;
}

std::optional<diagnostics> admission::refusal(const place& seq) const {
  const auto say = [](error code, auto sentence) {
    try {
      return diagnostics(code, sentence());
    } catch (...) {
      return diagnostics(code, "the engine has no room for one more sequence");
    }
  };
  if (counts_.draining)
    return diagnostics(error::draining, "the engine is draining: it ends what has begun and begins nothing more");
  if (!seq.taken && counts_.sequences >= max_sequences_)
    return say(error::queue_full, [&] {
      return fmt::format(
          "the engine holds {} sequences, as many as engine_options.limits.max_sequences allows; {} of them wait for "
          "their "
          "first slot",
          counts_.sequences, counts_.waiting);
    });
  if (!seq.scheduled && !seq.waiting && counts_.waiting >= max_waiting_)
    return say(error::queue_full, [&] {
      return fmt::format("{} sequences wait for their first slot, as many as engine_options.limits.max_waiting allows",
                         counts_.waiting);
    });
  return std::nullopt;
}

void admission::admission_result(place& seq) noexcept {
  const std::lock_guard lock(mutex_);
  seq.scheduled = true;
  stop_waiting(seq);
}

void admission::rest(place& seq) noexcept {
  std::unique_lock lock(mutex_);
  const bool was_last = end_work(seq);
  lock.unlock();
  if (was_last) idle_();
}

void admission::leave(place& seq) noexcept {
  std::unique_lock lock(mutex_);
  if (std::exchange(seq.taken, false)) --counts_.sequences;
  const bool was_last = end_work(seq);
  lock.unlock();
  if (was_last) idle_();
}

void admission::fork(const place& parent, place& child) noexcept {
  const std::lock_guard lock(mutex_);
  child.scheduled = parent.scheduled;
  child.taken = parent.taken;
  if (child.taken) ++counts_.sequences;
}

void admission::drain() noexcept {
  const std::lock_guard lock(mutex_);
  counts_.draining = true;
}

admission::counts admission::now() const noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void admission::stop_waiting(place& seq) noexcept {
  if (std::exchange(seq.waiting, false)) --counts_.waiting;
}

bool admission::end_work(place& seq) noexcept {
  stop_waiting(seq);
  if (!std::exchange(seq.at_work, false)) return false;
  return --counts_.at_work == 0 && counts_.draining;
}

}  // namespace cogen::detail
