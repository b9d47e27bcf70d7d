#include "engine/compile_state.hpp"

#include "engine/runner/diagnostics_of.hpp"

#include <utility>

namespace cogen::detail {

compile_state::compile_state(std::shared_ptr<engine_loop> engine, std::uint64_t tenant)
    : lone_operation(std::move(engine)) {
  admission_.tenant = tenant;
}

void compile_state::start(std::shared_ptr<operation_type> wait, response_format format) {
  begin_wait(std::move(wait));
  if (const auto refused = begin_work()) return fail(*refused);
  const auto self = std::static_pointer_cast<compile_state>(shared_from_this());
  engine_->compilations().put(admission_.tenant, is_unwanted_,
                              [self, format = std::move(format)](auto& watch) { self->compile(format, watch); });
}

void compile_state::cancel(const pending_operation& wait, net::cancellation_type type) noexcept {
  is_unwanted_ = true;
  lone_operation::cancel(wait, type);
}

void compile_state::compile(const response_format& format, grammar::work_watch& watch) noexcept try {
  watch.check();
  compiled_format compiled(engine_->formats().compile(format, {.tenant = admission_.tenant, .watch = &watch}));
  const auto ended = engine_->error();
  complete_wait(ended, ended ? compiled_format() : std::move(compiled));
} catch (...) {
  fail(diagnostics_of(std::current_exception()));
}

}  // namespace cogen::detail
