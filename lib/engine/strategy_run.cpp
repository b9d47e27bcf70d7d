#include "engine/strategy_run.hpp"

#include "engine/runner/diagnostics_of.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace cogen::detail {
class strategy_run::completion_handler {
 public:
  using cancellation_slot_type = net::cancellation_slot;

  explicit completion_handler(std::shared_ptr<strategy_run> run) : run_(std::move(run)) {}
  cancellation_slot_type get_cancellation_slot() const noexcept { return run_->cancel_.slot(); }
  void operator()(const std::exception_ptr&) const noexcept {}

 private:
  std::shared_ptr<strategy_run> run_;
};

void strategy_run::add(const std::shared_ptr<strategy_stream>& stream) { streams_.push_back(stream); }

void strategy_run::start(const engine_executor& executor, strategy_input input) {
  if (started_) return;
  std::vector<strategy_output> outputs;
  outputs.reserve(streams_.size());
  started_ = true;  // if anything throws from here on, the outputs fail their streams
  for (const auto& each : streams_) outputs.emplace_back(each.lock());
  net::co_spawn(executor, run(shared_from_this(), std::move(input), std::move(outputs)),
                completion_handler(shared_from_this()));
}

/// Before it begins there is nothing to cancel, and Asio calls that an error of the executor.
void strategy_run::leave() {
  if (++left_ == streams_.size() && has_begun_) cancel_.emit(net::cancellation_type::terminal);
}

net::awaitable<void> strategy_run::run(std::shared_ptr<strategy_run> self, strategy_input input,
                                       std::vector<strategy_output> outputs) {
  self->has_begun_ = true;
  if (self->left_ == self->streams_.size()) co_return;
  diagnostics why;
  try {
    co_await self->strategy_.run(std::move(input), outputs);
  } catch (...) {
    why = diagnostics_of(std::current_exception());
  }
  // The end of the last stream cancels what the strategy waits for. It waits for nothing.
  co_await net::this_coro::throw_if_cancelled(false);
  for (auto& each : outputs)
    if (why)
      each.fail(why);
    else
      each.finish(finish_reason::aborted);
}

}  // namespace cogen::detail
