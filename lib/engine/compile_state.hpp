#pragma once

#include "engine/lone_operation.hpp"

#include <cogen/engine.hpp>

#include <atomic>

namespace cogen::detail {

/// A pending async_compile().
class compile_state final : public lone_operation<compiled_format> {
 public:
  compile_state(std::shared_ptr<engine_loop> engine, std::uint64_t tenant);

  void start(std::shared_ptr<operation_type> wait, response_format format);
  void cancel(const pending_operation& wait, net::cancellation_type type) noexcept override;
  void process(loop_view&) override { post_again(); }

 private:
  void compile(const response_format& format, grammar::work_watch& watch) noexcept;

  std::atomic<bool> is_unwanted_ = false;
};

}  // namespace cogen::detail
