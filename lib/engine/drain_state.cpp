#include "engine/drain_state.hpp"

#include <utility>

namespace cogen::detail {

void drain_state::start(std::shared_ptr<operation_type> wait) {
  engine_->wait_until_idle(shared_from_this());
  begin_wait(std::move(wait));
  engine_->admissions().drain();
  if (!engine_->enqueue(shared_from_this())) fail(engine_->error());
}

void drain_state::process(loop_view&) {
  post_again();
  if (engine_->admissions().now().at_work == 0) complete_wait({});
}

void drain_state::leave_engine() noexcept { engine_->cancel_wait(*this); }

}  // namespace cogen::detail
