#pragma once

#include "engine/engine_loop.hpp"
#include "engine/request_state.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace cogen::detail {

/// The state of a pending operation that has no sequence. It is a request_state so that it counts toward the engine's
/// limits, and that the engine thread processes it. Cancellation has it end with operation_aborted until its handler
/// runs.
template <class... Result>
class lone_operation : public request_state, public result_owner {
 public:
  using operation_type = operation<Result...>;
  using request_state::request_state;

  net::any_io_executor default_executor() const override { return engine_->default_executor(); }

  void cancel(const pending_operation&, net::cancellation_type) noexcept override {
    const auto self = shared_from_this();
    {
      const completion_lock lock(*this);
      if (!wait_) return;
      complete(std::exchange(wait_, nullptr), net::error::operation_aborted, Result()...);
    }
    leave_engine();
  }

  void settle(pending_operation&) noexcept override {
    const std::lock_guard lock(mutex_);
    wait_.reset();
  }

  void deliver(const scheduler::event&, row_output&, loop_view&) override {}
  std::optional<clock::time_point> expire(clock::time_point, loop_view&) override { return std::nullopt; }
  void fail(const diagnostics& why) noexcept override { complete_wait(why, Result()...); }
  diagnostics error() const override { return {}; }
  bool awaits_client() const override { return false; }

 protected:
  void begin_wait(std::shared_ptr<operation_type> wait) {
    const std::lock_guard lock(mutex_);
    wait_ = std::move(wait);
  }

  bool waits() const noexcept {
    const std::lock_guard lock(mutex_);
    return wait_ && !wait_->completed();
  }

  /// Does nothing if it is completed already.
  void complete_wait(const diagnostics& why, Result... result) noexcept {
    const auto self = shared_from_this();
    {
      const completion_lock lock(*this);
      if (!wait_ || wait_->completed()) return;
      complete(wait_, why, std::move(result)...);
    }
    leave_engine();
  }

 private:
  std::shared_ptr<operation_type> wait_;  // under the lock, until its handler runs or it is cancelled
};

}  // namespace cogen::detail
