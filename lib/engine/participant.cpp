#include "engine/participant.hpp"

#include "engine/driver.hpp"

#include <thread>
#include <utility>

namespace cogen::detail {

participant::participant(std::shared_ptr<driver> engine)
    : engine_(std::move(engine)), past_(engine_->fresh_id(), engine_->now()) {}

participant::~participant() { leave_place(); }

std::optional<failure> participant::begin_work() noexcept {
  auto refused = engine_->room().begin(place_);
  if (!refused) return std::nullopt;
  if (auto ended = engine_->error()) return ended;
  return refused;
}

void participant::end_work() noexcept { engine_->room().rest(place_); }

void participant::leave_place() noexcept { engine_->room().leave(place_); }

void participant::seat() {
  if (std::exchange(seated_, true)) return;
  engine_->room().seat(place_);
  begin_after(engine_->plans().reused(id_.value()));
}

void participant::give_up(const failure& why) {
  fail(why);
  leave();
}

void participant::leave() {
  engine_->wake_no_more(*this);
  if (const auto left = std::exchange(id_, std::nullopt)) {
    engine_->plans().cancel(*left);
    engine_->leave(*left);
  }
  leave_place();
}

void participant::post_again() noexcept {
  if (!post_unposted() && !engine_->mail(shared_from_this())) insist();
}

void participant::post_later(std::shared_ptr<async::pending_operation> operation) noexcept {
  keep_unposted(std::move(operation));
  if (!engine_->mail(shared_from_this())) insist();
}

void participant::keep_unposted(std::shared_ptr<async::pending_operation> operation) noexcept {
  std::lock_guard lock(unposted_mutex_);
  operation->next = std::move(unposted_);
  unposted_ = std::move(operation);
}

bool participant::post_unposted() noexcept {
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

void participant::insist() noexcept {
  constexpr int tries = 1000;
  for (int i = 0; i < tries && !post_unposted(); ++i) std::this_thread::yield();
}

}  // namespace cogen::detail
