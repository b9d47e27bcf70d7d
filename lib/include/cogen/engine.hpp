#pragma once

#include <cogen/async/engine_executor.hpp>
#include <cogen/async/operation.hpp>
#include <cogen/clock.hpp>
#include <cogen/engine_options.hpp>
#include <cogen/error.hpp>
#include <cogen/open_options.hpp>
#include <cogen/request.hpp>
#include <cogen/request_estimate.hpp>
#include <cogen/runner.hpp>
#include <cogen/scheduler/scheduler.hpp>
#include <cogen/sequence.hpp>
#include <cogen/text/tokenizer.hpp>
#include <cogen/token_stream.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cogen {

class model;

namespace detail {
class driver;

/// What a wait for the end of all work and the engine share.
class drain_face {
 public:
  using drain_operation = async::operation<>;

  virtual ~drain_face() = default;
  virtual net::any_io_executor default_executor() const = 0;
  virtual void start(std::shared_ptr<drain_operation> wait) = 0;
  virtual void cancel() noexcept = 0;
};

/// What the opening of a session and the engine share.
class opening_face {
 public:
  using open_operation = async::operation<sequence>;

  virtual ~opening_face() = default;
  virtual net::any_io_executor default_executor() const = 0;
  virtual void start_open(std::shared_ptr<open_operation> wait, std::filesystem::path path) = 0;
  virtual void cancel_open(const open_operation& wait) noexcept = 0;
};

template <class Token>
auto async_open(std::shared_ptr<opening_face> shared, std::filesystem::path from, Token&& completion) {
  return net::async_initiate<Token, void(error_code, sequence)>(
      [](auto handler, std::shared_ptr<opening_face> face, std::filesystem::path path) {
        auto cancel = [weak = std::weak_ptr(face)](net::cancellation_type, const auto& wait) {
          if (auto still = weak.lock()) still->cancel_open(*wait);
        };
        using operation = opening_face::open_operation;
        auto wait = operation::make(std::move(handler), face->default_executor(), std::move(cancel));
        face->start_open(std::move(wait), std::move(path));
      },
      completion, std::move(shared), std::move(from));
}
}  // namespace detail

/// What an engine has to know of a model with an encoder.
struct encoder_spec {
  token start;      ///< every answer begins with it
  int longest = 0;  ///< tokens of an encoder input
};

/// What an engine is put together from. `engine(model, options)` fills it in; tests, simulations and own back ends
/// bring their own.
struct engine_parts {
  std::unique_ptr<cogen::runner> runner;
  scheduler::limits limits;
  std::unique_ptr<scheduler::scheduling_policy> scheduling_policy = scheduler::fcfs();
  std::unique_ptr<scheduler::preemption_policy> preemption_policy = scheduler::longest_idle();
  std::unique_ptr<scheduler::allocation_policy> allocation_policy = scheduler::reserve_max_length();
  std::shared_ptr<const text::tokenizer> tokenizer;  ///< none: prompts are token ids, and pieces have no text
  std::shared_ptr<const text::chat_template> chat;   ///< none: chat messages are refused
  std::string chat_error;                            ///< why there is none, if the model brings one
  std::vector<token> end_tokens;                     ///< end a generation unless its request ignores them
  std::optional<encoder_spec> encoder_inputs;        ///< none: the model has no encoder
  std::string fingerprint;                           ///< of the model: sessions are opened where it is the same
  std::shared_ptr<const cogen::clock> clock = std::make_shared<steady_clock>();
};

/// Runs every request it is given in one continuously refilled batch.
///
/// Owns the caches, the scheduler and one thread (none with `options.external_stepping`). Members may be called from
/// any thread. The destructor ends everything: each pending operation completes with error::engine_stopped, and the
/// thread is joined; called on that very thread, it marks the end and the thread finishes by itself. Streams, sequences
/// and executors may outlive the engine.
class engine {
 public:
  using executor_type = async::engine_executor;

  /// Throws std::invalid_argument when an option makes no sense for this model, naming option, value and limit.
  explicit engine(std::shared_ptr<const model> model, engine_options options = {});
  explicit engine(engine_parts parts, engine_options options = {});
  engine(engine&&) noexcept;
  engine& operator=(engine&&) noexcept;
  ~engine();

  /// Begins a generation and returns at once. What is wrong with the request is told by the stream: its first `next()`
  /// fails with error::invalid_request, does_not_fit, deadline_unreachable or queue_full, and `error()` says why. A
  /// full queue, parameters that make no sense and an engine that drains or has ended are known when this returns; the
  /// rest too, but for texts over 16 KiB, which are tokenized by another thread.
  token_stream generate(request what);

  /// What a request may come to, and whether this engine can ever run it, told without asking the engine to do
  /// anything: it takes the time of tokenizing the prompt, on the calling thread. Does not throw:
  /// what would be told to the request's stream is in `why_not`. Says nothing of who else is running or draining.
  request_estimate estimate(const request& what) const;

  /// A sequence that holds nothing yet. Memory is set aside when it first runs. Throws std::invalid_argument where its
  /// max_sequence_length makes no sense.
  sequence open(const open_options& options = {});

  /// The same beside an encoder input, for a model with an encoder, which reads it when the sequence first runs. The
  /// first token fed should be the one that answers start with, model_config::decoder_start. Throws
  /// std::invalid_argument for a model without an encoder, an empty encoder input or one that is too long, or a token
  /// outside the vocabulary; without a encoder input where the model has an encoder, too.
  sequence open(std::vector<token> encoder_input, const open_options& options = {});

  /// The sequence that sequence::save() wrote to `session`, in this process or an earlier one: it goes on to the same
  /// bits as the saved one would have. Throws as above. The file is read and checked away from the engine's
  /// thread. What the sequence had cached counts as swapped out, and comes back when the sequence goes on; where
  /// engine_options.swap.bytes has no room for it, its tokens are run again. Until then it is kept bit by bit,
  /// whatever engine_options.swap.format says. A session of a sequence that was exact() no more opens as such a one;
  /// one whose cache was saved out of a swap-out with swap_format::q8 is exact() until that comes back.
  ///
  /// Fails with error::bad_session, and the file, what is wrong with it and what is expected in the sentence: no
  /// session at all, one of a newer version, of another model or another kind of cache, one that was cut short or
  /// damaged; error::does_not_fit where it holds more tokens than the sequence may; the system's error where it cannot
  /// be read; error::queue_full and draining as operations do. What the awaitable throws says the sentence; where a
  /// handler gets an error, the sequence that it gets can only be asked for its `error()`. Cancellation of every type
  /// ends the wait at once with operation_aborted.
  net::awaitable<sequence> open(std::filesystem::path session, const open_options& options = {});

  /// Signature: void(error_code, sequence). Throws as open() where max_sequence_length makes no sense.
  template <net::completion_token_for<void(error_code, sequence)> Token = net::deferred_t>
  auto async_open(std::filesystem::path session, const open_options& options = {}, Token&& completion = {}) {
    return detail::async_open(new_opening(options), std::move(session), std::forward<Token>(completion));
  }

  /// Work given to this executor runs between decode steps on the engine's thread; coroutines spawned there are resumed
  /// with no hop between threads. They must not block.
  executor_type get_executor() const;

  /// With `options.external_stepping`: runs the handlers already queued, then one step if there is one to run. Returns
  /// whether there was. Exceptions out of those handlers pass through. One thread at a time.
  bool poll_one();

  /// Begins nothing more, and waits until all that has begun is over. From here on, for good, requests and new
  /// operations of sequences fail with error::draining; generations go on to their end, and pending operations of
  /// sequences to their result. It completes when none of them runs or waits any more: a generation whose reader has
  /// stopped reading holds it up until it is read, ends or loses its handle; a hand-driven sequence that nobody has
  /// asked anything does not. Pieces that are still unread then can be read. The engine itself goes on: `stop()` or the
  /// destructor ends it.
  ///
  /// Every cancellation type ends the wait at once with operation_aborted, and not the draining. Several may wait.
  /// Fails with the code of `error()` where the engine ends before all is over. By hand it takes a `poll_one()` to
  /// complete.
  net::awaitable<void> drain();

  /// Signature: void(error_code). Nothing happens before initiation.
  template <net::completion_token_for<void(error_code)> Token = net::deferred_t>
  auto async_drain(Token&& completion = {}) {
    return net::async_initiate<Token, void(error_code)>(
        [](auto handler, std::shared_ptr<detail::drain_face> shared) {
          auto cancel = [weak = std::weak_ptr(shared)](net::cancellation_type, const auto&) {
            if (auto face = weak.lock()) face->cancel();
          };
          using operation = detail::drain_face::drain_operation;
          auto wait = operation::make(std::move(handler), shared->default_executor(), std::move(cancel));
          shared->start(std::move(wait));
        },
        completion, new_drain());
  }

  /// Ends everything as the destructor does, without waiting for it.
  void stop() noexcept;

  /// Why the engine is dead: error::engine_stopped after `stop()`, error::device_failed after a step failed; else
  /// empty.
  diagnostics error() const;

  engine_stats stats() const;

 private:
  std::shared_ptr<detail::drain_face> new_drain() const;
  std::shared_ptr<detail::opening_face> new_opening(const open_options& options) const;

  std::shared_ptr<detail::driver> driver_;
  class engine_thread;
  std::unique_ptr<engine_thread> thread_;
};

inline net::awaitable<void> engine::drain() { return async_drain(net::use_awaitable); }

}  // namespace cogen
