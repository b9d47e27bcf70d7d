#include "engine/participant.hpp"

#include "engine/driver.hpp"

namespace cogen::detail {

void participant::keep_unposted(std::shared_ptr<async::pending_operation> operation) noexcept {
  {
    std::lock_guard lock(unposted_mutex_);
    operation->next_unposted = std::move(unposted_);
    unposted_ = std::move(operation);
  }
  engine_->mail(shared_from_this());
}

void participant::post_again() noexcept {
  std::shared_ptr<async::pending_operation> each;
  {
    std::lock_guard lock(unposted_mutex_);
    each = std::move(unposted_);
  }
  while (each) {
    auto next = std::move(each->next_unposted);
    if (!each->post_again()) keep_unposted(std::move(each));
    each = std::move(next);
  }
}

}  // namespace cogen::detail
