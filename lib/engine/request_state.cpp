#include "engine/request_state.hpp"

#include "engine/engine_loop.hpp"
#include "engine/loop_view.hpp"
#include "engine/sampling_state.hpp"
#include "engine/stored_prefixes.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace cogen::detail {

request_state::request_state(std::shared_ptr<engine_loop> engine)
    : engine_(std::move(engine)), timeline_(engine_->fresh_id(), engine_->now()) {}

request_state::~request_state() { request_state::leave_engine(); }

std::optional<diagnostics> request_state::begin_work(std::span<admission_state* const> peers, bool accepted) noexcept {
  if (engine_->is_forked()) return engine_->error();
  auto refused = engine_->admissions().begin(admission_, peers, accepted);
  if (!refused) return std::nullopt;
  if (auto ended = engine_->error()) return ended;
  return refused;
}

void request_state::end_work() noexcept { engine_->admissions().end_work(admission_); }

void request_state::leave_engine() noexcept { engine_->admissions().leave(admission_); }

void request_state::schedule(int prefix_hit_tokens) noexcept {
  engine_->admissions().schedule(admission_);
  set_cached_tokens(prefix_hit_tokens);
}

void request_state::begin_late(scheduler::late_sample sample, row_output output) {
  sampling()->begin_late(std::move(output));
  late_ = sample;
  late_is_over_ = false;
  try {
    engine_->late_samples().put(admission_.tenant, [self = shared_from_this()] { self->sample_late(); });
  } catch (...) {
    late_.reset();
    throw;
  }
}

void request_state::sample_late() noexcept {
  if (!is_unwanted()) sampling()->sample_late();
  late_is_over_ = true;
  engine_->enqueue(shared_from_this());
}

std::optional<std::pair<scheduler::late_sample, row_output>> request_state::take_late() noexcept {
  if (!late_ || !late_is_over_) return std::nullopt;
  auto sample = *std::exchange(late_, std::nullopt);
  auto outcome = is_unwanted() ? row_output{.error = net::error::operation_aborted} : sampling()->take_late();
  sample.sampled = outcome.chosen.id;
  sample.failed = static_cast<bool>(outcome.error);
  return std::pair(sample, std::move(outcome));
}

void request_state::end_with(const diagnostics& why, loop_view& loop) {
  fail(why);
  leave(loop);
}

void request_state::leave(loop_view& loop) {
  loop.cancel_timer(*this);
  if (const auto left = std::exchange(id_, std::nullopt)) {
    loop.scheduler().cancel(*left);
    loop.leave(*left);
  }
  leave_engine();
}

bool request_state::awaits_stored_prefix(std::span<const token> prompt, const scheduler::cache_salt& salt,
                                         loop_view& loop) {
  auto* const stored = loop.prefixes();
  if (stored && std::exchange(has_looked_up_, true)) return stored->waits(*this);
  return stored && stored->restore(prompt, salt, shared_from_this());
}

constrained_text request_state::text_after(std::size_t begin) const {
  const auto vocabulary = static_cast<std::size_t>(engine_->vocabulary());
  const auto& tokenizer = engine_->parts().tokenizer;
  return {.begin = begin,
          .vocabulary = vocabulary,
          .mask_size = std::max(vocabulary, tokenizer ? tokenizer->size() : std::size_t{0})};
}

void request_state::post_again() noexcept { completion_lock(*this).unlock(); }

void request_state::keep(std::shared_ptr<pending_operation> completed) noexcept {
  completed->next = std::move(completed_);
  completed_ = std::move(completed);
}

void request_state::post(std::shared_ptr<pending_operation> completed) noexcept {
  if (!post_all(std::move(completed)) && !engine_->enqueue(shared_from_this())) retry();
}

bool request_state::post_all(std::shared_ptr<pending_operation> completed) noexcept {
  bool posted = true;
  for (auto operation = std::move(completed); operation;) {
    auto next = std::move(operation->next);
    if (!operation->post_again()) {
      const std::lock_guard lock(mutex_);
      keep(std::move(operation));
      posted = false;
    }
    operation = std::move(next);
  }
  return posted;
}

/// The engine has ended: there is no later round. Handlers that there is no memory for are destroyed.
void request_state::retry() noexcept {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    std::unique_lock lock(mutex_);
    auto completed = std::exchange(completed_, nullptr);
    lock.unlock();
    if (post_all(std::move(completed))) return;
    std::this_thread::yield();
  }
  std::unique_lock lock(mutex_);
  auto lost = std::exchange(completed_, nullptr);
  lock.unlock();
  for (; lost; lost = std::move(lost->next)) lost->drop();
}

}  // namespace cogen::detail
