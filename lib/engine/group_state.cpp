#include "engine/group_state.hpp"

#include "engine/stream_state.hpp"

#include <stdexcept>
#include <utility>

namespace cogen::detail {

group_state::group_state(std::vector<std::shared_ptr<stream_state>> streams)
    : listed_(streams.size()), open_(streams.size()) {
  if (streams.empty()) throw std::invalid_argument("a stream_group needs at least 1 stream");
  members_.reserve(streams.size());
  for (auto& each : streams) members_.push_back({std::move(each)});
}

void group_state::join_all() {
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i].stream->join(weak_from_this(), i);
}

net::any_io_executor group_state::default_executor() const { return members_.front().stream->default_executor(); }

std::shared_ptr<group_state::next_operation> group_state::last_next() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(last_next_, nullptr);
}

/// Those that are known to have something are asked first, and all only where none has.
void group_state::start_next(std::shared_ptr<next_operation> wait, bool events) {
  std::unique_lock lock(mutex_);
  if (next_ && next_->dropped()) give_up();
  const bool is_second = next_ != nullptr;
  if (is_second || open_ == 0) {
    wait->set_result(is_second ? diagnostics(error::operation_in_progress, "an async_next() is pending on this group")
                               : diagnostics(),
                     std::optional<stream_event>());
    wait->complete();
    lock.unlock();
    return post(std::move(wait));
  }
  last_next_ = wait;
  next_ = std::move(wait);
  events_ = events;
  lock.unlock();
  while (const auto index = take_listed()) members_[*index].stream->ask_for_group();
  for (std::size_t i = 0; i < members_.size() && wants_more(); ++i) members_[i].stream->ask_for_group();
}

void group_state::cancel(const pending_operation& wait, net::cancellation_type) noexcept {
  std::unique_lock lock(mutex_);
  if (next_.get() != &wait) return;
  auto cancelled = next_;
  give_up();
  cancelled->set_result(net::error::operation_aborted, std::optional<stream_event>());
  const bool is_posted = cancelled->complete();
  lock.unlock();
  if (!is_posted) post(std::move(cancelled));
}

/// One that is completed keeps its result.
void group_state::abort() noexcept {
  std::unique_lock lock(mutex_);
  if (!next_ || next_->completed()) return;
  auto aborted = std::exchange(next_, nullptr);
  aborted->set_result(net::error::operation_aborted, std::optional<stream_event>());
  aborted->complete();
  lock.unlock();
  post(std::move(aborted));
}

void group_state::settle(pending_operation& called) noexcept {
  std::unique_lock lock(mutex_);
  if (&called != next_.get()) return;
  const auto wait = next_;
  auto& chosen = members_[chosen_];
  const bool events = events_;
  lock.unlock();
  const bool is_last = chosen.stream->give_group(*wait, events);
  lock.lock();
  if (is_last) end(chosen);
  next_.reset();
}

std::shared_ptr<pending_operation> group_state::offer(std::size_t index, const stream_offer& offered) noexcept {
  const std::lock_guard lock(mutex_);
  auto& entry = members_[index];
  if (entry.over) return nullptr;
  if (!next_ || next_->completed()) {
    list(index, false);
    return nullptr;
  }
  if (offered.piece || offered.failed || (events_ && (offered.progress || offered.ended))) {
    chosen_ = index;
    next_->complete();
    return next_;
  }
  if (offered.ended) end(entry);
  if (open_ > 0) return nullptr;
  next_->set_result(error_code(), std::optional<stream_event>());
  next_->complete();
  return std::exchange(next_, nullptr);
}

bool group_state::waits(bool for_progress) const noexcept {
  const std::lock_guard lock(mutex_);
  return next_ && !next_->dropped() && (events_ || !for_progress);
}

/// A stream posts it, and again where memory is short.
void group_state::post(std::shared_ptr<next_operation> completed) noexcept {
  members_.front().stream->post_for_group(std::move(completed));
}

std::optional<std::size_t> group_state::take_listed() noexcept {
  const std::lock_guard lock(mutex_);
  if (!next_ || next_->completed() || listed_.empty()) return std::nullopt;
  const auto index = listed_.front();
  listed_.pop_front();
  members_[index].listed = false;
  return index;
}

bool group_state::wants_more() const noexcept {
  const std::lock_guard lock(mutex_);
  return next_ && !next_->completed();
}

void group_state::list(std::size_t index, bool first) noexcept {
  if (std::exchange(members_[index].listed, true)) return;
  first ? listed_.push_front(index) : listed_.push_back(index);
}

void group_state::end(member& entry) noexcept {
  if (!std::exchange(entry.over, true)) --open_;
}

/// What it would have taken is kept.
void group_state::give_up() noexcept {
  if (next_->completed()) list(chosen_, true);
  next_.reset();
}

}  // namespace cogen::detail
