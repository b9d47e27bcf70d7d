#include "engine/session/stream_operations.hpp"

#include "engine/async/call_member.hpp"
#include "engine/engine_loop.hpp"
#include "engine/runner/diagnostics_of.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <thread>
#include <utility>

namespace cogen {
namespace detail {
namespace {

const std::string stream_name = "the session";

/// Posts the handler; if memory is short, tries again for a while.
void post(pending_operation& completed) noexcept {
  constexpr int tries = 1000;
  for (int i = 0; i < tries && !completed.post_again(); ++i) std::this_thread::yield();
}

}  // namespace

// What both have in common

/// Not a bound slot: co_spawn() would dispatch the cancellation, which might then find the task gone (Boost 1.81).
struct stream_task::ended {
  using cancellation_slot_type = net::cancellation_slot;
  cancellation_slot_type get_cancellation_slot() const noexcept { return self->signal_.slot(); }

  void operator()(const std::exception_ptr& thrown) const {
    self->running_ = false;
    self->end(thrown ? diagnostics_of(thrown) : diagnostics());
  }

  std::shared_ptr<stream_task> self;
};

void stream_task::spawn(const net::any_io_executor& executor) {
  strand_.emplace(executor);
  net::co_spawn(*strand_, run_marked(), ended{shared_from_this()});
}

net::awaitable<void> stream_task::run_marked() {
  running_ = true;
  throw_if_cancelled();
  co_await run();
}

/// Without memory to reach the strand, the coroutine notices it before it uses the stream next.
void stream_task::cancel_task() noexcept try {
  if (!strand_) return;  // it was refused
  cancelled_ = true;
  net::post(*strand_, [self = shared_from_this()] {
    self->running_ ? self->signal_.emit(net::cancellation_type::terminal) : self->cancel_after_end();
  });
} catch (const std::bad_alloc&) {
  return;
}

void stream_task::throw_if_cancelled() const {
  if (cancelled_) throw boost::system::system_error(net::error::operation_aborted);
}

// Saving

stream_save::stream_save(std::shared_ptr<sequence_state> state, std::shared_ptr<byte_sink> sink)
    : state_(std::move(state)), sink_(std::move(sink)) {}

void stream_save::start(std::shared_ptr<operation<>> wait) {
  wait_ = std::move(wait);
  started_ = wait_.get();
  spawn(wait_->executor());
}

/// That of a piece waits for it, as it is soon made.
void stream_save::cancel(const pending_operation& wait, net::cancellation_type) noexcept {
  if (&wait == started_) cancel_task();
}

net::awaitable<void> stream_save::run() {
  co_await copy();
  co_await make_piece();
  while (!piece_.empty()) {
    throw_if_cancelled();
    co_await sink_->write(piece_);
    co_await make_piece();
  }
}

net::awaitable<void> stream_save::copy() {
  // Of its own: once this is cancelled, it may still be filled on the other thread.
  const auto writer = std::make_shared<std::optional<session_writer>>();
  const sequence_state::session_target target =
      [writer](const session& state, const std::shared_ptr<const kv_snapshot>& snapshot, const auto&) {
        writer->emplace(stream_name, state, snapshot);
        return diagnostics();
      };
  auto token = throwing;
  const initiation<void(sequence_state::session_target)> begin(state_, call_member<&sequence_state::start_copy>);
  co_await initiate<throwing_t>(token, begin, target);
  writer_ = std::move(*writer);
}

net::awaitable<void> stream_save::make_piece() {
  auto token = throwing;
  const initiation<void()> begin(std::static_pointer_cast<stream_save>(shared_from_this()),
                                 call_member<&stream_save::start_piece>);
  co_await initiate<throwing_t>(token, begin);
}

void stream_save::start_piece(std::shared_ptr<operation<>> wait) {
  const auto self = std::static_pointer_cast<stream_save>(shared_from_this());
  state_->engine()->offload([self, wait] {
    diagnostics why;
    try {
      self->piece_ = self->writer_->next();
    } catch (...) {
      why = diagnostics_of(std::current_exception());
    }
    wait->set_result(std::move(why));
    post(*wait);
  });
}

void stream_save::end(const diagnostics& why) {
  writer_.reset();
  if (why) state_->report(why);
  auto wait = std::move(wait_);
  if (wait->dropped()) return;
  wait->set_result(why);
  auto& ended = *wait;
  ended.call(std::move(wait));
}

// Opening

stream_open::stream_open(std::shared_ptr<sequence_state> state, std::shared_ptr<byte_source> source)
    : state_(std::move(state)), source_(std::move(source)) {}

void stream_open::start(std::shared_ptr<operation<sequence>> wait) {
  wait_ = wait;
  const auto executor = wait->executor();
  if (state_->begin_open(std::move(wait))) spawn(executor);
}

net::awaitable<void> stream_open::run() {
  session_reader reader(stream_name, state_->limits());
  for (auto buffer = reader.prepare(); !buffer.empty(); buffer = reader.prepare()) {
    throw_if_cancelled();
    const std::size_t read = co_await source_->read_some(buffer);
    if (auto ended = state_->engine()->error()) throw generation_error(std::move(ended));
    if (read == 0) reader.refuse_end();
    reader.commit(read);
  }
  state_->engine()->offload([state = state_, found = std::make_shared<read_session>(reader.release())] {
    state->check_and_finish_open(stream_name, std::move(*found));
  });
}

void stream_open::end(const diagnostics& why) {
  if (why) state_->fail_opening(why);
}

void stream_open::cancel_after_end() noexcept { state_->cancel(*wait_, net::cancellation_type::terminal); }

}  // namespace detail

detail::initiation<void()> sequence_handle::save_initiation(std::shared_ptr<byte_sink> sink) const {
  using detail::stream_save;
  return {std::make_shared<stream_save>(shared(), std::move(sink)), detail::call_member<&stream_save::start>};
}

}  // namespace cogen
