#include "engine/drain_state.hpp"

#include "engine/driver.hpp"

#include <utility>

namespace cogen::detail {

net::any_io_executor drain_state::default_executor() const { return engine_->default_executor(); }

void drain_state::start(std::shared_ptr<drain_operation> wait) {
  engine_->wait_until_idle(shared_from_this());
  {
    const std::lock_guard lock(mutex_);
    wait_ = std::move(wait);
  }
  engine_->room().drain();
  if (!engine_->mail(shared_from_this())) fail(engine_->error());
}

void drain_state::cancel() noexcept { tell(net::error::operation_aborted); }

void drain_state::attend() {
  post_again();
  if (engine_->room().now().at_work == 0) tell({});
}

void drain_state::fail(const failure& why) noexcept { tell(why.code()); }

void drain_state::tell(error_code code) noexcept {
  std::shared_ptr<drain_operation> told;
  {
    const std::lock_guard lock(mutex_);
    told = std::exchange(wait_, nullptr);
  }
  if (!told) return;
  const auto self = shared_from_this();
  engine_->wait_no_more(*this);
  complete(std::move(told), code);
}

}  // namespace cogen::detail
