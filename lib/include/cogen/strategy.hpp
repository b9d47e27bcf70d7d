#pragma once

#include <cogen/detail/engine_executor.hpp>
#include <cogen/detail/operation.hpp>
#include <cogen/metrics.hpp>
#include <cogen/request.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/sequence.hpp>
#include <cogen/token.hpp>

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace cogen {

namespace detail {
class strategy_stream;
}

/// The end of a token_stream that a strategy writes to. For the engine's thread.
///
/// The stream does the rest: its tokens become text, stop strings and deadlines end it, and its reader gets pieces. One
/// that is destroyed before it was finished fails.
class [[nodiscard]] strategy_output {
 public:
  using default_completion_token = net::default_completion_token_t<engine_executor>;

  /// Made by the engine. Null: the stream's handle is gone.
  explicit strategy_output(std::shared_ptr<detail::strategy_stream> shared) noexcept : shared_(std::move(shared)) {}
  strategy_output(strategy_output&&) noexcept = default;
  strategy_output& operator=(strategy_output&&) = delete;
  ~strategy_output();

  /// Appends a token, which must be in the vocabulary and no end token. No effect once the stream has ended.
  void write(sampled_token next);

  /// Ends the stream. `score` is what token_stream::score() returns. No effect once it has ended.
  void finish(finish_reason reason, std::optional<float> score = {});

  /// Ends the stream with an error. No effect once it has ended.
  void fail(const diagnostics& why) noexcept;

  /// Whether writing has no effect any more: it was finished, cut by a stop string or a deadline, or is not read.
  [[nodiscard]] bool ended() const;

  /// Waits until the reader is no more than request::max_buffered_tokens behind, or the stream has ended. Signature:
  /// void(error_code). Every cancellation type ends it with operation_aborted. Fails with error::operation_in_progress
  /// while another one is pending. The stream must have a handle.
  template <net::completion_token_for<void(error_code)> Token = default_completion_token>
  [[nodiscard]] auto async_ready(Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, ready_initiation());
  }

 private:
  detail::initiation<void()> ready_initiation() const;

  std::shared_ptr<detail::strategy_stream> shared_;
};

/// What a strategy begins with: a request that was read and checked.
struct strategy_input {
  /// As given to the engine, without prompt and encoder input; valid as long as the outputs.
  const cogen::request& request;
  std::vector<token> prompt;      ///< at least one token; the decoder's, if the model has an encoder
  std::vector<token> end_tokens;  ///< end a generation: the model's, unless it ignores them, and its stop_token_ids
  int max_tokens = 0;             ///< that may follow the prompt, at least 1
  int vocabulary = 0;
  /// An empty sequence of at most so many tokens, with the request's encoder input, priority, tenant and cache_salt.
  /// While the engine drains, it goes on.
  std::function<sequence(int max_sequence_length)> open;
};

/// A way to generate: a coroutine over sequences that writes to a stream. See cogen/decoding for those that are built
/// in, and engine::generate().
///
/// `run` is called once for each generation, on the engine's thread. An exception that leaves it fails the stream, if
/// it has not ended, with its message; when it returns, the stream ends with finish_reason::aborted. When the stream
/// has ended, or its handle is gone, the pending operation is cancelled with net::cancellation_type::terminal. It must
/// not block: steps wait for it. If the engine ends while it waits, it may be destroyed without being resumed.
struct strategy {
  /// The coroutine; the output outlives it.
  std::function<net::awaitable<void>(strategy_input input, strategy_output& output)> run;
};

/// The same for several streams, which are read as a stream_group. Each ends as that of a `strategy` does; the pending
/// operation is cancelled when all have ended.
struct group_strategy {
  int streams = 1;  ///< that it writes, at least 1
  /// The coroutine; the outputs outlive it.
  std::function<net::awaitable<void>(strategy_input input, std::span<strategy_output> outputs)> run;
};

}  // namespace cogen
