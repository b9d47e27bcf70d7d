#include "engine/request_state.hpp"

#include "engine/engine_loop.hpp"

#include <thread>
#include <utility>

namespace cogen::detail {

request_state::request_state(std::shared_ptr<engine_loop> engine)
    : engine_(std::move(engine)), metrics_(engine_->fresh_id(), engine_->now()) {}

request_state::~request_state() { leave_place(); }

std::optional<diagnostics> request_state::begin_work() noexcept {
  auto refused = engine_->room().begin(place_);
  if (!refused) return std::nullopt;
  if (auto ended = engine_->error()) return ended;
  return refused;
}

void request_state::end_work() noexcept { engine_->room().rest(place_); }

void request_state::leave_place() noexcept { engine_->room().leave(place_); }

void request_state::scheduled() {
  if (std::exchange(scheduled_, true)) return;
  engine_->room().admission_result(place_);
  begin_after(engine_->plans().prefix_hit_tokens(id_.value()));
}

void request_state::end_with(const diagnostics& why) {
  fail(why);
  leave();
}

void request_state::leave() {
  engine_->cancel_timer(*this);
  if (const auto left = std::exchange(id_, std::nullopt)) {
    engine_->plans().cancel(*left);
    engine_->leave(*left);
  }
  leave_place();
}

void request_state::post_again() noexcept { completion_lock(*this).unlock(); }

void request_state::keep(std::shared_ptr<async::pending_operation> completed) noexcept {
  completed->next = std::move(completed_);
  completed_ = std::move(completed);
}

void request_state::post(std::shared_ptr<async::pending_operation> completed) noexcept {
  if (!post_all(std::move(completed)) && !engine_->enqueue(shared_from_this())) retry();
}

bool request_state::post_all(std::shared_ptr<async::pending_operation> completed) noexcept {
  bool all = true;
  for (auto each = std::move(completed); each;) {
    auto next = std::move(each->next);
    if (!each->post_again()) {
      const std::lock_guard lock(mutex_);
      keep(std::move(each));
      all = false;
    }
    each = std::move(next);
  }
  return all;
}

/// The engine has ended: there is no later round.
void request_state::retry() noexcept {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    std::unique_lock lock(mutex_);
    auto completed = std::exchange(completed_, nullptr);
    lock.unlock();
    if (post_all(std::move(completed))) return;
    std::this_thread::yield();
  }
}

}  // namespace cogen::detail
