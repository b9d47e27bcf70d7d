#include "engine/loop_view.hpp"

#include "engine/engine_loop.hpp"
#include "engine/request_state.hpp"

#include <utility>

namespace cogen::detail {

clock::time_point loop_view::now() const noexcept { return loop_.now(); }

scheduler::scheduler& loop_view::scheduler() noexcept { return loop_.scheduler_; }

runner& loop_view::runner() noexcept { return *loop_.parts_.runner; }

stored_prefixes* loop_view::prefixes() noexcept { return loop_.prefixes_.get(); }

std::shared_ptr<background_work>& loop_view::background() noexcept { return loop_.background_work_; }

void loop_view::join(scheduler::sequence_id id, std::shared_ptr<request_state> member) {
  auto& joined = loop_.members_[id] = std::move(member);
  loop_.metrics_.accepted(*joined, id, now());
}

void loop_view::leave(scheduler::sequence_id id) noexcept { loop_.members_.erase(id); }

void loop_view::wake_at(clock::time_point time, const std::shared_ptr<request_state>& state) {
  loop_.timers_.set(time, state);
}

void loop_view::cancel_timer(request_state& state) noexcept { loop_.timers_.cancel(state); }

}  // namespace cogen::detail
