#include "engine/drain_state.hpp"

#include "engine/engine_loop.hpp"

#include <utility>

namespace cogen::detail {

net::any_io_executor drain_state::default_executor() const { return engine_->default_executor(); }

void drain_state::start(std::shared_ptr<async::operation<>> wait) {
  engine_->wait_until_idle(shared_from_this());
  {
    const std::lock_guard lock(mutex_);
    wait_ = std::move(wait);
  }
  engine_->admissions().drain();
  if (!engine_->enqueue(shared_from_this())) fail(engine_->error());
}

void drain_state::cancel() noexcept { complete_wait(net::error::operation_aborted); }

void drain_state::process() {
  post_again();
  if (engine_->admissions().now().at_work == 0) complete_wait({});
}

void drain_state::fail(const diagnostics& why) noexcept { complete_wait(why); }

void drain_state::complete_wait(const diagnostics& why) noexcept {
  const auto self = shared_from_this();
  {
    const completion_lock lock(*this);
    if (!wait_) return;
    complete(std::exchange(wait_, nullptr), why);
  }
  engine_->cancel_wait(*this);
}

}  // namespace cogen::detail
