#pragma once

#include "engine/request_state.hpp"

#include <cogen/engine.hpp>

namespace cogen::detail {

/// A pending async_drain(). It has no sequence and takes no place; it is a request_state so that the engine thread
/// processes it.
class drain_state final : public request_state, public drain_face {
 public:
  using request_state::request_state;

  net::any_io_executor default_executor() const override;
  void start(std::shared_ptr<async::operation<>> wait) override;
  void cancel() noexcept override;

  void process() override;
  void deliver(const scheduler::event&, row_output&) override {}
  std::optional<clock::time_point> expire(clock::time_point) override { return std::nullopt; }
  void fail(const diagnostics& why) noexcept override;
  diagnostics error() const override { return {}; }
  bool awaits_client() const override { return false; }

 private:
  void complete_wait(const diagnostics& why) noexcept;

  std::shared_ptr<async::operation<>> wait_;  // under the lock; null once it is completed
};

}  // namespace cogen::detail
