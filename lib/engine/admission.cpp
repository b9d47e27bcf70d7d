#include "engine/admission.hpp"

#include <fmt/format.h>

#include <utility>

namespace cogen::detail {

admission::admission(int max_sequences, int max_waiting, std::function<void()> idle)
    : max_sequences_(max_sequences), max_waiting_(max_waiting), idle_(std::move(idle)) {}

std::optional<failure> admission::begin(place& whose) noexcept {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(whose)) return refused;
  if (!std::exchange(whose.taken, true)) ++counts_.sequences;
  if (!whose.seated && !std::exchange(whose.waiting, true)) ++counts_.waiting;
  if (!std::exchange(whose.at_work, true)) ++counts_.at_work;
  return std::nullopt;
}

std::optional<failure> admission::refusal(const place& whose) const {
  const auto say = [](error code, auto sentence) {
    try {
      return failure(code, sentence());
    } catch (...) {
      return failure(code, "the engine has no room for one more sequence");
    }
  };
  if (counts_.draining)
    return failure(error::draining, "the engine is draining: it ends what has begun and begins nothing more");
  if (!whose.taken && counts_.sequences >= max_sequences_)
    return say(error::queue_full, [&] {
      return fmt::format(
          "the engine holds {} sequences, as many as engine_options.max_sequences allows; {} of them wait for their "
          "first slot",
          counts_.sequences, counts_.waiting);
    });
  if (!whose.seated && !whose.waiting && counts_.waiting >= max_waiting_)
    return say(error::queue_full, [&] {
      return fmt::format("{} sequences wait for their first slot, as many as engine_options.max_waiting allows",
                         counts_.waiting);
    });
  return std::nullopt;
}

void admission::seat(place& whose) noexcept {
  const std::lock_guard lock(mutex_);
  whose.seated = true;
  stop_waiting(whose);
}

void admission::rest(place& whose) noexcept {
  std::unique_lock lock(mutex_);
  const bool was_last = end_work(whose);
  lock.unlock();
  if (was_last) idle_();
}

void admission::leave(place& whose) noexcept {
  std::unique_lock lock(mutex_);
  if (std::exchange(whose.taken, false)) --counts_.sequences;
  const bool was_last = end_work(whose);
  lock.unlock();
  if (was_last) idle_();
}

void admission::fork(const place& parent, place& child) noexcept {
  const std::lock_guard lock(mutex_);
  child.seated = parent.seated;
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

void admission::stop_waiting(place& whose) noexcept {
  if (std::exchange(whose.waiting, false)) --counts_.waiting;
}

bool admission::end_work(place& whose) noexcept {
  stop_waiting(whose);
  if (!std::exchange(whose.at_work, false)) return false;
  return --counts_.at_work == 0 && counts_.draining;
}

}  // namespace cogen::detail
