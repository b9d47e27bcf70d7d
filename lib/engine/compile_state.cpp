#include "engine/compile_state.hpp"

#include "engine/engine_loop.hpp"
#include "runner/diagnostics_of.hpp"

#include <utility>

namespace cogen::detail {

net::any_io_executor compile_state::default_executor() const { return engine_->default_executor(); }

void compile_state::start(std::shared_ptr<async::operation<compiled_format>> wait, response_format format) {
  {
    const std::lock_guard lock(mutex_);
    wait_ = std::move(wait);
  }
  if (const auto refused = begin_work()) return fail(*refused);
  const auto self = std::static_pointer_cast<compile_state>(shared_from_this());
  engine_->offload([self, format = std::move(format)] { self->compile(format); });
}

void compile_state::compile(const response_format& format) noexcept try {
  compiled_format compiled(engine_->formats().compile(format));
  const auto ended = engine_->error();
  complete_wait(ended, ended ? compiled_format() : std::move(compiled));
} catch (...) {
  fail(diagnostics_of(std::current_exception()));
}

void compile_state::cancel() noexcept { fail(net::error::operation_aborted); }

void compile_state::fail(const diagnostics& why) noexcept { complete_wait(why, compiled_format()); }

void compile_state::complete_wait(const diagnostics& why, compiled_format result) noexcept {
  const auto self = shared_from_this();
  {
    const completion_lock lock(*this);
    if (!wait_) return;
    complete(std::exchange(wait_, nullptr), why, std::move(result));
  }
  leave_engine();
}

}  // namespace cogen::detail
