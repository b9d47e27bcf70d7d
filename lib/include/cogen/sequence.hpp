#pragma once

#include <cogen/byte_stream.hpp>
#include <cogen/detail/engine_executor.hpp>
#include <cogen/detail/operation.hpp>
#include <cogen/fwd.hpp>
#include <cogen/guide.hpp>
#include <cogen/metrics.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/token.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace cogen {

/// Which logits async_forward() returns: those after the last token, or after each of them.
enum class logits_of { last, all };

namespace detail {
class sequence_state;
}

/// What a sequence does whatever its executor type is.
class sequence_handle : public detail::handle<detail::sequence_state> {
 public:
  using handle::handle;

  /// Cuts the sequence to its first `length` tokens. Throws std::out_of_range if it holds fewer, and generation_error
  /// with error::operation_in_progress while an operation is pending.
  void truncate(int length);

  /// Lets async_decode() sample only what the guide allows, end tokens included. It begins here: all tokens from now
  /// on, fed or sampled, are its text; an operation that feeds one that it does not accept fails with
  /// error::callback_threw. Forks get a clone; truncation and cancellation roll it back. Null: no guide from now on.
  /// async_save() saves none. Throws generation_error with error::operation_in_progress while an operation is pending.
  void constrain(std::unique_ptr<guide> guide);

  [[nodiscard]] std::vector<token> tokens() const;  ///< without a pending operation's

  /// Whether its results are bit by bit those without swapping. False for good after a swap with swap_format::q8, or if
  /// it was opened or forked from a sequence for which that holds.
  [[nodiscard]] bool exact() const;

  /// When it was accepted, scheduled and so on, up to now.
  [[nodiscard]] cogen::request_metrics request_metrics() const;
  /// Why the last operation that failed did.
  [[nodiscard]] diagnostics error() const;
  /// Its number in the engine's events and traces.
  [[nodiscard]] std::uint64_t id() const;

 protected:
  engine_executor executor() const;
  sequence_handle fork();  ///< see basic_sequence
  detail::initiation<logits(std::vector<token>, logits_of)> forward_initiation() const;
  detail::initiation<sampled_token(std::vector<token>, sampling_params)> decode_initiation() const;
  detail::initiation<std::vector<sampled_token>(std::vector<token>, sampling_params, std::vector<token>)>
  draft_initiation() const;  ///< of async_decode_drafts()
  detail::initiation<void()> suspend_initiation() const;
  detail::initiation<void(std::filesystem::path)> save_initiation() const;
  detail::initiation<void()> save_initiation(std::shared_ptr<byte_sink> sink) const;
};

/// A sequence under the program's control: feed it tokens, await logits or a sampled token. Made by engine::open().
///
///     auto sequence = engine.open();
///     auto logits = co_await sequence.async_forward(tokens);
///     auto next = co_await sequence.async_decode({}, {.temperature = 0.8});
///
/// Search, constrained output, speculation and agents are coroutines over sequences. All sequences share one batch.
/// Destroying one frees its slot. Threads, lifetime and handlers: see `engine`.
///
/// Every cancellation type ends an operation at once with operation_aborted. After a cancelled or failed operation the
/// sequence is as before it, except after error::out_of_memory: then the sequence has ended. Operations fail at once
/// with error::draining while the engine drains, and with error::queue_full if the sequence has had no slot yet and the
/// queue is full.
template <class Executor>
class [[nodiscard]] basic_sequence : public sequence_handle {
 public:
  using executor_type = Executor;
  using default_completion_token = net::default_completion_token_t<executor_type>;
  using sequence_handle::sequence_handle;

  /// Takes over a sequence with another executor type.
  basic_sequence(sequence_handle&& other) noexcept : sequence_handle(std::move(other)) {}

  /// The same sequence with another executor type.
  template <class Other>
  struct rebind_executor {
    using other = basic_sequence<Other>;
  };

  /// Runs work between steps, on the engine's thread.
  [[nodiscard]] Executor get_executor() const { return Executor(executor()); }

  /// Appends `tokens` and returns their logits. Without tokens: the logits after the last token, once more. Signature:
  /// void(error_code, logits). Fails with error::invalid_request for a token outside the vocabulary or an empty
  /// sequence, error::does_not_fit beyond max_sequence_length.
  template <net::completion_token_for<void(error_code, logits)> Token = default_completion_token>
  [[nodiscard]] auto async_forward(std::vector<token> tokens, logits_of which = logits_of::last,
                                   Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, forward_initiation(), std::move(tokens), which);
  }

  /// Appends `tokens`, then a token sampled after the last one held, and returns it. Signature: void(error_code,
  /// sampled_token). Fails as async_forward() does, with error::invalid_request for parameters outside their limits,
  /// error::bad_logits, and error::callback_threw.
  template <net::completion_token_for<void(error_code, sampled_token)> Token = default_completion_token>
  [[nodiscard]] auto async_decode(std::vector<token> tokens = {}, sampling_params sampling = {},
                                  Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, decode_initiation(), std::move(tokens), std::move(sampling));
  }

  /// As async_decode(), with draft tokens: guesses at what is sampled next. One step runs them all, samples after each
  /// as if it had been sampled, and keeps what is sampled up to the first that differs from its draft. Appends and
  /// returns at least one token, and at most one more than `drafts` has: the first tokens that repeated calls of
  /// async_decode() would sample, bit for bit. The engine uses the first of the drafts only, or none, where a step has
  /// no room for all, and where the cache could not drop them again (kv.max_rollback_tokens and kv.max_recurrent_drafts
  /// of engine_options). Signature: void(error_code, std::vector<sampled_token>). Fails as async_decode() does, with
  /// error::invalid_request also for drafts outside the vocabulary; if only a later token cannot be sampled, it returns
  /// those before it.
  template <net::completion_token_for<void(error_code, std::vector<sampled_token>)> Token = default_completion_token>
  [[nodiscard]] auto async_decode_drafts(std::vector<token> tokens, sampling_params sampling, std::vector<token> drafts,
                                         Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, draft_initiation(), std::move(tokens), std::move(sampling),
                                   std::move(drafts));
  }

  /// Gives up the slot, for example while a tool runs. Completes when the cache is in host memory; at once if nothing
  /// is cached. It also completes if engine_options.swap has no room, or the copy fails: the tokens are then computed
  /// again later. The next operation continues with the same bits, except with swap_format::q8. Signature:
  /// void(error_code). After cancellation the slot is given up all the same; cancelled when it is done, it reports
  /// success. Works while the engine drains, which does not wait for it.
  template <net::completion_token_for<void(error_code)> Token = default_completion_token>
  [[nodiscard]] auto async_suspend(Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, suspend_initiation());
  }

  /// Writes the sequence to a file that engine::async_load_session() reads, in this process or another one: tokens,
  /// random numbers, encoder input and cache. The sequence keeps its slot. The cache is copied while steps go on, in
  /// memory besides engine_options.swap.bytes; the next operation waits for the copy. If the copy fails, or an own
  /// runner has no snapshots, the file holds tokens alone, and they are computed again, to the same bits. The cache is
  /// written bit by bit; one swapped out with swap_format::q8 as it would be restored, and the file says that it is not
  /// exact. Signature: void(error_code). Fails with the system's error if the file cannot be written. The file replaces
  /// `path` once it is complete and on the disk; after failure or cancellation the previous file is unchanged.
  /// Cancelled when that is done, it reports success. Works while the engine drains, which does not wait for it.
  template <net::completion_token_for<void(error_code)> Token = default_completion_token>
  [[nodiscard]] auto async_save(std::filesystem::path path, Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, save_initiation(), std::move(path));
  }

  /// The same to a stream: an AsyncWriteStream of Asio, such as a socket, or a byte_sink. It gets the bytes of such a
  /// file, 1 MiB at a time as it takes them, and is not closed. Another operation may begin once the cache is copied,
  /// which stays in memory until all is written. Fails with the stream's error, and with io_error if what was swapped
  /// out to a file cannot be read; what was written is then no session. `stream` must live until the operation
  /// completes, which after cancellation it does when the stream's own operation has ended. Handlers without an
  /// executor of their own run on the stream's.
  template <session_sink Stream, net::completion_token_for<void(error_code)> Token = default_completion_token>
  [[nodiscard]] auto async_save(Stream& stream, Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, save_initiation(detail::sink_of(stream)));
  }

  /// A second sequence with the same tokens, whose cache is shared. Its random numbers are those of a new branch.
  /// Throws generation_error with error::operation_in_progress while an operation is pending.
  [[nodiscard]] basic_sequence fork() { return sequence_handle::fork(); }
};

using sequence = basic_sequence<engine_executor>;

}  // namespace cogen
