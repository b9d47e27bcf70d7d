#pragma once

#include <cogen/detail/engine_executor.hpp>
#include <cogen/detail/operation.hpp>
#include <cogen/engine_options.hpp>
#include <cogen/error.hpp>
#include <cogen/fwd.hpp>
#include <cogen/load_model.hpp>
#include <cogen/request.hpp>
#include <cogen/response_format.hpp>
#include <cogen/sequence.hpp>
#include <cogen/stream_group.hpp>
#include <cogen/token.hpp>
#include <cogen/token_stream.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace cogen {

namespace detail {
class engine_loop;
}

/// What each process of a model but rank 0 does (see load_options::parallel): executes its part of the steps of rank
/// 0's engine, and returns when that has ended. The options are those of the engine, and a model has one engine. Throws
/// std::logic_error on rank 0, std::invalid_argument as the engine's constructor does and if the options differ, and
/// std::runtime_error, naming the rank, if another one ends, stalls or fails. In the engine such a failure is
/// error::device_failed, for all that wait for it.
///
///     if (model->rank() > 0) return cogen::run_worker(model, options);
///     cogen::engine engine(model, options);
void run_worker(const std::shared_ptr<const model>& model, const engine_options& options = {});

/// Runs all requests in one continuously refilled batch.
///
/// Owns the caches, the scheduler and one thread; with engine_options::external_stepping no thread. The destructor ends
/// everything: pending operations fail with error::engine_stopped, and the thread is joined, or detached if the
/// destructor runs on it.
///
/// An engine, its streams and its sequences are move-only. Their members may be called from any thread. One that was
/// moved from may only be destroyed or assigned to. Streams, sequences and executors may outlive the engine; operations
/// then fail with error::engine_stopped. One operation may be pending on a stream or sequence; a second one fails with
/// error::operation_in_progress.
///
/// Handlers run on their associated executor, by default the engine's, as if by post. Once the engine has ended, those
/// without an executor of their own run on net::system_executor. A failed operation throws generation_error, with the
/// message, from `co_await` without a completion token, use_awaitable, use_future and use_coro. Other tokens report
/// the code; redirect_diagnostics() adds the message to any.
///
/// An operation is pending until its handler runs: cancelled before that, it completes with operation_aborted and loses
/// nothing, also where it was done. On a context that several threads run, cancellation needs a strand, as Asio's slots
/// do.
///
/// In a child process after fork(), the parent's engines cannot be used: operations fail with error::engine_stopped,
/// poll_one() throws generation_error, and handlers without an executor of their own, or with the system's, run on a
/// thread of the child. The child's destructors free nothing of the engine. A child may make engines of its own.
///
/// Asio's `as_default_on_t<token_stream>` is a stream with another default token, made from the one here.
class engine {
 public:
  using executor_type = engine_executor;
  using default_completion_token = net::default_completion_token_t<executor_type>;

  /// Throws std::invalid_argument for an option that is invalid for this model, naming it, its value and its limit.
  explicit engine(std::shared_ptr<const model> model, engine_options options = {});
  /// For own runners: see extend/runner.hpp.
  explicit engine(engine_parts parts, engine_options options = {});
  engine(engine&&) noexcept;
  engine& operator=(engine&&) noexcept;
  ~engine();

  /// Begins a generation and returns at once. If the request is wrong, the stream's first operation fails with
  /// error::invalid_request, does_not_fit, deadline_unreachable, queue_full or draining. That is known when this
  /// returns, except for texts over 16 KiB and response formats, which another thread tokenizes and compiles.
  [[nodiscard]] token_stream generate(request request);

  /// So many generations of one request, from 1 to the slots and engine_options.limits.max_waiting together, each a
  /// sequence that counts toward the limits. The first is what generate() would give; the others differ from it in
  /// their random numbers, those of a branch of their own, which `sampling.seed` makes reproducible. The prompt is
  /// tokenized once. It is run once, except for its last token, if the request and the engine cache prefixes and it has
  /// no encoder input. Only the first stream reports prompt_logprobs. A request that is refused is refused for all of
  /// them. Throws std::invalid_argument for another number.
  [[nodiscard]] stream_group generate_n(request request, int n);

  /// The stream of a strategy, such as guidance(), for one request. It counts as a generation, and so does each
  /// sequence of the strategy. Otherwise as `generate()`. Refused with error::invalid_request: `prompt_logprobs`,
  /// `echo`, what constrains or filters tokens (`response_format`, `tool_choice`, `reasoning_budget`, `bad_words`,
  /// `allowed_token_ids`), and a `max_tokens` of 0. Throws std::invalid_argument for a strategy without `run`.
  [[nodiscard]] token_stream generate(request request, strategy strategy);

  /// The same for a strategy of several streams, such as beam_search(), which count as so many generations. Throws
  /// std::invalid_argument also for a wrong number of them, as generate_n() does.
  [[nodiscard]] stream_group generate(request request, group_strategy strategy);

  /// What a request would need, and whether this engine could ever run it, whatever other requests there are. Tokenizes
  /// the prompt on the calling thread, which waits until a response format is compiled in the tenant's turn. Never
  /// throws: `why_not` has what the request's stream would report.
  [[nodiscard]] request_estimate estimate(const request& request) const;

  /// An empty sequence. Memory is reserved when it first runs. Throws std::invalid_argument for a wrong length limit or
  /// cache_salt, and for a model that only embeds, or has an encoder, whose sequences need an input.
  [[nodiscard]] sequence open(const open_options& options = {});

  /// A sequence with an encoder input, which the model's encoder reads when the sequence first runs. The first token
  /// fed should be model_config::decoder_start. Throws std::invalid_argument for an empty or too long input, a token
  /// outside the vocabulary, an input without an encoder, and wrong options.
  [[nodiscard]] sequence open(std::vector<token> encoder_input, const open_options& options = {});

  /// Loads the sequence that sequence::async_save() wrote to `session`. It continues as the saved one would have, bit
  /// by bit. The file is read on another thread. Its cache counts as swapped out until the sequence continues, and
  /// stays exact whatever engine_options.swap.format says. If engine_options.swap.bytes has no room, the tokens are
  /// computed again. Signature: void(error_code, sequence). Throws std::invalid_argument for wrong options. Fails with
  /// error::bad_session if the file is not a session, damaged, of another version, or of another model or kind of
  /// cache; error::does_not_fit if it holds too many tokens; the system's error if it cannot be read; error::queue_full
  /// and error::draining. The sequence of a failed operation has nothing but `error()`. Every cancellation type ends
  /// the operation at once with operation_aborted.
  template <net::completion_token_for<void(error_code, sequence)> Token = default_completion_token>
  [[nodiscard]] auto async_load_session(std::filesystem::path session, const open_options& options = {},
                                        Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, new_opening(options), std::move(session));
  }

  /// The same from a stream that async_save() wrote to: an AsyncReadStream of Asio, such as a socket, or a byte_source.
  /// Reads no byte after the session. What is wrong with it is found as early as possible; memory is taken as the bytes
  /// come. Fails also with the stream's error. `stream` must live until the operation completes, which after
  /// cancellation it does when the stream's own operation has ended. The engine holds the sequence, and async_drain()
  /// waits for it, from the first byte on. Handlers without an executor of their own run on the stream's.
  template <session_source Stream,
            net::completion_token_for<void(error_code, sequence)> Token = default_completion_token>
  [[nodiscard]] auto async_load_session(Stream& stream, const open_options& options = {},
                                        Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, new_opening(options, detail::source_of(stream)));
  }

  /// Makes one vector of each text, pooled and normalized as the model's files say. Texts are read between steps, about
  /// as many tokens at a time as a step may have, but each text whole; tenants take turns. A vector's bits depend on
  /// its text alone. Signature: void(error_code, std::vector<std::vector<float>>). Fails with error::invalid_request
  /// for no texts, an empty one, a pair, and a model that does not embed, error::does_not_fit for a text longer than
  /// the model reads, and error::queue_full and error::draining. Every cancellation ends it at once with
  /// operation_aborted.
  template <
      net::completion_token_for<void(error_code, std::vector<std::vector<float>>)> Token = default_completion_token>
  [[nodiscard]] auto async_embed(std::vector<encoder_input> texts, const work_options& options,
                                 Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, new_embedding(options), std::move(texts));
  }

  /// The same for tenant 0.
  template <
      net::completion_token_for<void(error_code, std::vector<std::vector<float>>)> Token = default_completion_token>
  [[nodiscard]] auto async_embed(std::vector<encoder_input> texts, Token&& completion = default_completion_token()) {
    return async_embed(std::move(texts), work_options(), std::forward<Token>(completion));
  }

  /// The score of each pair of texts by the model's classifier, with no function behind it. Otherwise as
  /// `async_embed()`. Signature: void(error_code, std::vector<float>).
  template <net::completion_token_for<void(error_code, std::vector<float>)> Token = default_completion_token>
  [[nodiscard]] auto async_score(std::vector<encoder_input> pairs, const work_options& options,
                                 Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, new_scoring(options), std::move(pairs));
  }

  /// The same for tenant 0.
  template <net::completion_token_for<void(error_code, std::vector<float>)> Token = default_completion_token>
  [[nodiscard]] auto async_score(std::vector<encoder_input> pairs, Token&& completion = default_completion_token()) {
    return async_score(std::move(pairs), work_options(), std::forward<Token>(completion));
  }

  /// Compiles a response format for the model's tokenizer on a thread that runs no steps, and keeps it for requests of
  /// the tenant with an equal one; engine_options.structured_output has the limits. Two run at once, tenants in turns
  /// of 50 ms of a processor; one that has taken a second is given up where many tenants wait. Signature:
  /// void(error_code, compiled_format). Fails with error::invalid_request, in a message that names the keyword, for
  /// what is malformed, not supported, or beyond a limit; also without a tokenizer, or in a build without XGrammar;
  /// with error::queue_full, also where it is given up; and with error::draining. Every cancellation type ends the wait
  /// at once with operation_aborted.
  template <net::completion_token_for<void(error_code, compiled_format)> Token = default_completion_token>
  [[nodiscard]] auto async_compile(response_format format, const work_options& options,
                                   Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, new_compilation(options), std::move(format));
  }

  /// The same for tenant 0.
  template <net::completion_token_for<void(error_code, compiled_format)> Token = default_completion_token>
  [[nodiscard]] auto async_compile(response_format format, Token&& completion = default_completion_token()) {
    return async_compile(std::move(format), work_options(), std::forward<Token>(completion));
  }

  /// Runs work between steps, on the engine's thread. It must not block. Coroutines spawned there resume on that
  /// thread.
  [[nodiscard]] executor_type get_executor() const;

  /// With engine_options::external_stepping: runs the queued handlers, whose exceptions it rethrows, then one step, and
  /// returns whether there was one. One thread at a time.
  bool poll_one();

  /// Stops accepting work for good and waits until what has begun is over. Requests and new operations fail with
  /// error::draining. Generations run to their end, pending operations to their result. A stream that is not read
  /// delays it; an idle sequence does not. Unread pieces can still be read afterwards. The engine itself remains until
  /// `stop()` or the destructor. Signature: void(error_code). Fails with the code of `error()` if the engine ends
  /// first. Every cancellation type ends the wait at once with operation_aborted; the draining goes on. Several
  /// operations may be pending. With external stepping it completes within poll_one().
  template <net::completion_token_for<void(error_code)> Token = default_completion_token>
  [[nodiscard]] auto async_drain(Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, new_drain());
  }

  /// Before the next step, drops what is kept of ended sequences for others to share, except what sequences read now.
  /// What engine_options::kv.prefix_cache_directory has stays (vLLM's reset_prefix_cache()).
  void drop_prefix_cache() noexcept;

  void stop() noexcept;  ///< ends everything as the destructor does, without waiting for it

  [[nodiscard]] std::shared_ptr<const text::tokenizer> tokenizer() const;  ///< null: prompts are token ids
  [[nodiscard]] int vocabulary() const;                                    ///< tokens that have logits

  /// Why the engine has ended: error::engine_stopped, or device_failed after a failed step. Empty while it runs.
  [[nodiscard]] diagnostics error() const;
  [[nodiscard]] engine_stats stats() const;

 private:
  using embedding_initiation = detail::initiation<std::vector<std::vector<float>>(std::vector<encoder_input>)>;

  detail::initiation<void()> new_drain() const;
  embedding_initiation new_embedding(const work_options& options) const;
  detail::initiation<std::vector<float>(std::vector<encoder_input>)> new_scoring(const work_options& options) const;
  detail::initiation<compiled_format(response_format)> new_compilation(const work_options& options) const;
  detail::initiation<sequence(std::filesystem::path)> new_opening(const open_options& options) const;
  detail::initiation<sequence()> new_opening(const open_options& options, std::shared_ptr<byte_source> source) const;

  std::shared_ptr<detail::engine_loop> loop_;
  class engine_thread;
  std::unique_ptr<engine_thread> thread_;
};

/// The memory of an engine over a model. Not included: the tokenizer, the working memory of a step (activations of
/// engine_options.batching.max_batched_tokens tokens, logits of a row for each slot), and the process itself.
struct memory_estimate {
  std::int64_t weight_bytes = 0;  ///< of all weights, as loaded
  int max_sequence_length = 0;    ///< tokens that one sequence may hold
  std::int64_t slot_bytes = 0;    ///< of one sequence of that length, with the longest encoder input
  std::int64_t cache_bytes = 0;   ///< of all slots, each of that length; engine_options.kv.bytes if that is less

  std::int64_t total() const noexcept { return weight_bytes + cache_bytes; }
};

/// Estimates memory from the header and the configuration of a model, in the forms that load_model() accepts, without
/// reading weights. The options' `layer_factory` is called as by an engine. Throws what load_model() throws if the
/// header or the configuration is wrong or a tensor is missing or misshapen, and what the engine's constructor throws
/// for invalid options for this model. Of `load` only multi_token_prediction counts. Thread-safe.
memory_estimate estimate_memory(const std::filesystem::path& path, const engine_options& options = {},
                                const load_options& load = {});

}  // namespace cogen
