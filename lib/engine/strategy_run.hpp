#pragma once

#include <cogen/strategy.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <vector>

namespace cogen::detail {

/// One call of a strategy's coroutine, and the streams that it writes to. Its members are called on the engine thread,
/// except add().
class strategy_run : public std::enable_shared_from_this<strategy_run> {
 public:
  explicit strategy_run(group_strategy strategy) : strategy_(std::move(strategy)) {}

  /// Adds one of the streams, before any of them is submitted.
  void add(const std::shared_ptr<strategy_stream>& stream);

  /// Starts the coroutine; only the first call has an effect.
  void start(const engine_executor& executor, strategy_input input);

  /// One of the streams has ended. The coroutine is cancelled with the last one.
  void leave();

 private:
  /// The end of the coroutine. It has no executor, so that Asio cancels at once and does not post the cancellation.
  class completion_handler;

  static net::awaitable<void> run(std::shared_ptr<strategy_run> self, strategy_input input,
                                  std::vector<strategy_output> outputs);

  const group_strategy strategy_;
  std::vector<std::weak_ptr<strategy_stream>> streams_;
  std::size_t left_ = 0;
  bool has_begun_ = false;
  bool started_ = false;
  net::cancellation_signal cancel_;
};

}  // namespace cogen::detail
