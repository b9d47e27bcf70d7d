#include "api/merged_streams.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <deque>
#include <set>
#include <utility>

namespace server::api {

struct merged_streams::state {
  explicit state(const net::any_io_executor& executor) : wake(executor) {}

  struct arrival {
    stream_event event;
    bool failed = false;
    bool ends_prompt = false;
    bool is_first = false;  ///< what was cached, before what was read
  };

  void add(arrival one) {
    if (one.event.progress && one.event.progress->processed > one.event.progress->cached) add_first(one.event);
    if (one.event.progress) begun.insert(one.event.stream);
    arrived.push_back(std::move(one));
    wake.cancel();
  }

  /// Clients are told what was cached, also where a step has read more by the time that they can be.
  void add_first(const stream_event& event) {
    if (begun.contains(event.stream)) return;
    auto cached = *event.progress;
    cached.processed = cached.cached;
    cached.time = {};
    arrived.push_back({.event = {event.stream, {}, cached}, .is_first = true});
  }

  net::steady_timer wake;
  std::deque<arrival> arrived;
  std::set<std::size_t> begun;  // streams of whose prompts something was read
  std::size_t open = 0;
};

merged_streams::merged_streams(std::vector<cogen::token_stream> streams, net::any_io_executor executor, bool progress)
    : streams_(std::move(streams)), state_(std::make_shared<state>(executor)) {
  state_->open = streams_.size();
  for (std::size_t i = 0; i < streams_.size(); ++i) progress ? ask_for_progress(i) : ask(i);
}

merged_streams::~merged_streams() = default;

/// The handler shares the state: it may run after the streams are gone.
void merged_streams::ask(std::size_t stream) {
  streams_[stream].async_next(
      net::bind_executor(state_->wake.get_executor(),
                         [shared = state_, stream](const cogen::error_code& error, std::optional<cogen::piece> piece) {
                           shared->add({{stream, std::move(piece)}, error.failed()});
                         }));
}

void merged_streams::ask_for_progress(std::size_t stream) {
  streams_[stream].async_prompt_progress(net::bind_executor(
      state_->wake.get_executor(),
      [shared = state_, stream](const cogen::error_code& error, std::optional<cogen::prompt_progress> progress) {
        shared->add({{stream, {}, progress}, error.failed(), !progress});
      }));
}

net::awaitable<std::optional<stream_event>> merged_streams::next(std::chrono::milliseconds limit) {
  if (state_->arrived.empty()) {
    state_->wake.expires_after(limit);
    boost::system::error_code woken;
    co_await state_->wake.async_wait(net::redirect_error(net::use_awaitable, woken));
    const auto cancelled = co_await net::this_coro::cancellation_state;
    if (cancelled.cancelled() != net::cancellation_type::none)
      throw boost::system::system_error(net::error::operation_aborted);
  }
  if (state_->arrived.empty()) co_return std::nullopt;
  auto [event, failed, ends_prompt, is_first] = std::move(state_->arrived.front());
  state_->arrived.pop_front();
  if (is_first) co_return std::move(event);
  if (failed) throw cogen::generation_error(streams_[event.stream].error());
  if (event.piece || ends_prompt) ask(event.stream);
  if (ends_prompt) co_return co_await next(limit);
  if (event.progress)
    ask_for_progress(event.stream);
  else if (!event.piece)
    --state_->open;
  co_return std::move(event);
}

bool merged_streams::ended() const noexcept { return state_->open == 0; }

}  // namespace server::api
