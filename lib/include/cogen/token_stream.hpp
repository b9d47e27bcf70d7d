#pragma once

#include <cogen/async/engine_executor.hpp>
#include <cogen/async/operation.hpp>
#include <cogen/clock.hpp>
#include <cogen/piece.hpp>
#include <cogen/request_metrics.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>

namespace cogen {

namespace detail {

/// What a stream and the engine share: the part of `token_stream` that is not its handle.
class stream_face {
 public:
  using next_operation = async::operation<std::optional<piece>>;
  using complete_operation = async::operation<completion>;

  virtual ~stream_face() = default;
  virtual async::engine_executor executor() const = 0;
  virtual net::any_io_executor default_executor() const = 0;
  virtual std::shared_ptr<next_operation> last_next() noexcept = 0;  ///< the wait before, given away; may be null
  virtual void start_next(std::shared_ptr<next_operation> wait, std::optional<clock::duration> limit) = 0;
  virtual void cancel_next(const next_operation& wait) noexcept = 0;
  virtual void start_complete(std::shared_ptr<complete_operation> wait) = 0;
  virtual void cancel_complete(const complete_operation& wait, net::cancellation_type type) noexcept = 0;
  virtual void stop() noexcept = 0;
  virtual void abort() noexcept = 0;
  virtual bool ended() const = 0;
  virtual finish_reason reason() const = 0;
  virtual cogen::usage usage() const = 0;
  virtual diagnostics error() const = 0;
  virtual std::uint64_t id() const = 0;
  virtual cogen::request_metrics request_metrics() const = 0;
};

}  // namespace detail

/// One generation, read as pieces of text by whoever holds this handle.
///
/// Move-only; destroying it ends the generation and frees its place in the batch. Members may be called from any
/// thread. One operation may be pending at a time: a second one completes with error::operation_in_progress. A handle
/// may outlive its engine; its operations then complete with error::engine_stopped.
///
/// Handlers run on their associated executor, by default the engine's, as if by post. Every cancellation type
/// (terminal, partial, total) ends a wait at once with operation_aborted, and loses nothing: the piece is there for the
/// next call.
class token_stream {
 public:
  using executor_type = async::engine_executor;

  explicit token_stream(std::shared_ptr<detail::stream_face> shared) noexcept : shared_(std::move(shared)) {}
  token_stream(token_stream&&) noexcept = default;
  token_stream& operator=(token_stream&& other) noexcept {
    abort();
    shared_ = std::move(other.shared_);
    return *this;
  }
  ~token_stream() { abort(); }

  /// Runs its handlers between decode steps on the engine's thread.
  executor_type get_executor() const { return shared_->executor(); }

  /// The next piece, or nothing at the end. Fails with the code of `error()` where the generation failed.
  net::awaitable<std::optional<piece>> next();

  /// Signature: void(error_code, std::optional<piece>).
  template <net::completion_token_for<void(error_code, std::optional<piece>)> Token = net::deferred_t>
  auto async_next(Token&& token = {}) {
    return initiate_next(std::nullopt, token);
  }

  /// As `next()`, but fails with error::timed_out when no piece came within `limit` of the engine's clock. Nothing is
  /// lost.
  net::awaitable<std::optional<piece>> next_for(clock::duration limit);

  /// Signature: void(error_code, std::optional<piece>).
  template <net::completion_token_for<void(error_code, std::optional<piece>)> Token = net::deferred_t>
  auto async_next_for(clock::duration limit, Token&& token = {}) {
    return initiate_next(limit, token);
  }

  /// Everything from here to the end. Partial and total cancellation give what was produced so far, with the reason
  /// `stopped`, and leave the rest of the generation running; terminal cancellation completes with operation_aborted
  /// and leaves every piece to be read.
  net::awaitable<completion> complete();

  /// Signature: void(error_code, completion).
  template <net::completion_token_for<void(error_code, completion)> Token = net::deferred_t>
  auto async_complete(Token&& token = {}) {
    // By value: the handler may run, and end the coroutine that holds the arguments, before this returns.
    return net::async_initiate<Token, void(error_code, completion)>(
        [](auto handler, std::shared_ptr<detail::stream_face> shared) {
          using operation = detail::stream_face::complete_operation;
          auto cancel = [weak = std::weak_ptr(shared)](net::cancellation_type type, const auto& wait) {
            if (auto face = weak.lock()) face->cancel_complete(*wait, type);
          };
          shared->start_complete(operation::make(std::move(handler), shared->default_executor(), std::move(cancel)));
        },
        token, shared_);
  }

  /// Ends the generation and keeps what was produced: it can still be read. No effect once it has ended.
  void stop() noexcept { shared_->stop(); }

  /// True when the generation is over; pieces may be left to read.
  bool ended() const { return shared_->ended(); }

  /// How it ended. `stopped` until it has.
  finish_reason reason() const { return shared_->reason(); }

  /// What it has taken so far; final once it has ended.
  cogen::usage usage() const { return shared_->usage(); }

  /// When what happened to it, up to now or its end; agrees with `usage()`.
  cogen::request_metrics request_metrics() const { return shared_->request_metrics(); }

  /// Names it among all that one engine is asked for, as events and traces do.
  std::uint64_t id() const { return shared_->id(); }

  /// Why it failed, in words; empty where it did not.
  diagnostics error() const { return shared_->error(); }

 private:
  template <class Token>
  auto initiate_next(std::optional<clock::duration> limit, Token& token) {
    return net::async_initiate<Token, void(error_code, std::optional<piece>)>(
        [](auto handler, std::shared_ptr<detail::stream_face> shared, std::optional<clock::duration> at_most) {
          using operation = detail::stream_face::next_operation;
          auto cancel = [weak = std::weak_ptr(shared)](net::cancellation_type, const auto& wait) {
            if (auto face = weak.lock()) face->cancel_next(*wait);
          };
          shared->start_next(
              operation::make(std::move(handler), shared->default_executor(), std::move(cancel), shared->last_next()),
              at_most);
        },
        token, shared_, limit);
  }

  void abort() noexcept {
    if (shared_) shared_->abort();
  }

  std::shared_ptr<detail::stream_face> shared_;
};

inline net::awaitable<std::optional<piece>> token_stream::next() { return async_next(net::use_awaitable); }

inline net::awaitable<std::optional<piece>> token_stream::next_for(clock::duration limit) {
  return async_next_for(limit, net::use_awaitable);
}

inline net::awaitable<completion> token_stream::complete() { return async_complete(net::use_awaitable); }

}  // namespace cogen
