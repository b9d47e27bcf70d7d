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

void request_state::post_again() noexcept {
  if (!post_unposted() && !engine_->enqueue(shared_from_this())) retry();
}

void request_state::post_later(std::shared_ptr<async::pending_operation> operation) noexcept {
  keep_unposted(std::move(operation));
  if (!engine_->enqueue(shared_from_this())) retry();
}

void request_state::keep_unposted(std::shared_ptr<async::pending_operation> operation) noexcept {
  std::lock_guard lock(unposted_mutex_);
  operation->next = std::move(unposted_);
  unposted_ = std::move(operation);
}

bool request_state::post_unposted() noexcept {
  std::shared_ptr<async::pending_operation> each;
  {
    std::lock_guard lock(unposted_mutex_);
    each = std::move(unposted_);
  }
  bool all = true;
  while (each) {
    auto next = std::move(each->next);
    if (!each->post_again()) {
      keep_unposted(std::move(each));
      all = false;
    }
    each = std::move(next);
  }
  return all;
}

void request_state::retry() noexcept {
  constexpr int tries = 1000;
  for (int i = 0; i < tries && !post_unposted(); ++i) std::this_thread::yield();
}

}  // namespace cogen::detail
