#pragma once

#include "engine/request_state.hpp"

#include <cogen/engine.hpp>

namespace cogen::detail {

/// A pending async_compile(). It has no sequence; it is a request_state so that it counts toward the engine's limits.
class compile_state final : public request_state, public compile_face {
 public:
  using request_state::request_state;

  net::any_io_executor default_executor() const override;
  void start(std::shared_ptr<async::operation<compiled_format>> wait, response_format format) override;
  void cancel() noexcept override;

  void process() override { post_again(); }
  void deliver(const scheduler::event&, row_output&) override {}
  std::optional<clock::time_point> expire(clock::time_point) override { return std::nullopt; }
  void fail(const diagnostics& why) noexcept override;
  diagnostics error() const override { return {}; }
  bool awaits_client() const override { return false; }

 private:
  void compile(const response_format& format) noexcept;
  void complete_wait(const diagnostics& why, compiled_format result) noexcept;

  std::shared_ptr<async::operation<compiled_format>> wait_;  // under the lock; null once it is completed
};

}  // namespace cogen::detail
