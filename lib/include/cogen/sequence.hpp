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

/// What a sequence's handle and the engine share.
class sequence_face : public detail::result_owner {
 public:
  using forward_operation = detail::operation<logits>;
  using decode_operation = detail::operation<sampled_token>;
  using draft_operation = detail::operation<std::vector<sampled_token>>;
  using plain_operation = detail::operation<>;
  using open_operation = detail::operation<sequence>;

  virtual engine_executor executor() const = 0;
  virtual net::any_io_executor default_executor() const = 0;
  virtual void start_forward(std::shared_ptr<forward_operation> wait, std::vector<token> tokens, logits_of which) = 0;
  virtual void cancel_forward(const forward_operation& wait) noexcept = 0;
  virtual void start_decode(std::shared_ptr<decode_operation> wait, std::vector<token> tokens,
                            sampling_params params) = 0;
  virtual void cancel_decode(const decode_operation& wait) noexcept = 0;
  virtual void start_draft(std::shared_ptr<draft_operation> wait, std::vector<token> tokens, sampling_params params,
                           std::vector<token> drafts) = 0;
  virtual void cancel_draft(const draft_operation& wait) noexcept = 0;
  virtual void start_suspend(std::shared_ptr<plain_operation> wait) = 0;
  virtual void start_save(std::shared_ptr<plain_operation> wait, std::filesystem::path path) = 0;
  virtual void cancel_plain(const plain_operation& wait) noexcept = 0;
  virtual void start_open(std::shared_ptr<open_operation> wait, std::filesystem::path path) = 0;
  virtual void cancel_open(const open_operation& wait) noexcept = 0;
  virtual std::shared_ptr<sequence_face> fork() = 0;
  virtual void truncate(int length) = 0;
  virtual void constrain(std::unique_ptr<guide> guide) = 0;
  virtual std::vector<token> tokens() const = 0;
  virtual bool exact() const = 0;
  virtual diagnostics error() const = 0;
  virtual std::uint64_t id() const = 0;
  virtual cogen::request_metrics request_metrics() const = 0;
  virtual void abort() noexcept = 0;
};

/// What an operation with a state of its own shares with the engine.
template <class Operation, class... Args>
class engine_face : public detail::result_owner {
 public:
  virtual net::any_io_executor default_executor() const = 0;
  virtual void start(std::shared_ptr<Operation> wait, Args... args) = 0;
  virtual void cancel() noexcept = 0;
};

using plain_face = engine_face<detail::operation<>>;
using open_face = engine_face<detail::operation<sequence>>;

std::shared_ptr<plain_face> new_saving(const std::shared_ptr<sequence_face>& face, std::shared_ptr<byte_sink> sink);

}  // namespace detail

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
class [[nodiscard]] basic_sequence : public detail::handle<detail::sequence_face, Executor> {
 public:
  using typename detail::handle<detail::sequence_face, Executor>::default_completion_token;
  using detail::handle<detail::sequence_face, Executor>::handle;

  /// The same sequence with another executor type.
  template <class Other>
  struct rebind_executor {
    using other = basic_sequence<Other>;
  };

  /// Runs work between steps, on the engine's thread.
  [[nodiscard]] Executor get_executor() const { return Executor(this->face().executor()); }

  /// Appends `tokens` and returns their logits. Without tokens: the logits after the last token, once more. Signature:
  /// void(error_code, logits). Fails with error::invalid_request for a token outside the vocabulary or an empty
  /// sequence, error::does_not_fit beyond max_sequence_length.
  template <net::completion_token_for<void(error_code, logits)> Token = default_completion_token>
  [[nodiscard]] auto async_forward(std::vector<token> tokens, logits_of which = logits_of::last,
                                   Token&& completion = default_completion_token()) {
    return detail::initiate<Token, logits>(completion, this->shared(), &detail::sequence_face::start_forward,
                                           &detail::sequence_face::cancel_forward, std::move(tokens), which);
  }

  /// Appends `tokens`, then a token sampled after the last one held, and returns it. Signature: void(error_code,
  /// sampled_token). Fails as async_forward() does, with error::invalid_request for parameters outside their limits,
  /// error::bad_logits, and error::callback_threw.
  template <net::completion_token_for<void(error_code, sampled_token)> Token = default_completion_token>
  [[nodiscard]] auto async_decode(std::vector<token> tokens = {}, sampling_params sampling = {},
                                  Token&& completion = default_completion_token()) {
    return detail::initiate<Token, sampled_token>(completion, this->shared(), &detail::sequence_face::start_decode,
                                                  &detail::sequence_face::cancel_decode, std::move(tokens),
                                                  std::move(sampling));
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
    return detail::initiate<Token, std::vector<sampled_token>>(
        completion, this->shared(), &detail::sequence_face::start_draft, &detail::sequence_face::cancel_draft,
        std::move(tokens), std::move(sampling), std::move(drafts));
  }

  /// Gives up the slot, for example while a tool runs. Completes when the cache is in host memory; at once if nothing
  /// is cached. It also completes if engine_options.swap has no room, or the copy fails: the tokens are then computed
  /// again later. The next operation continues with the same bits, except with swap_format::q8. Signature:
  /// void(error_code). After cancellation the slot is given up all the same; cancelled when it is done, it reports
  /// success. Works while the engine drains, which does not wait for it.
  template <net::completion_token_for<void(error_code)> Token = default_completion_token>
  [[nodiscard]] auto async_suspend(Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, this->shared(), &detail::sequence_face::start_suspend,
                                   &detail::sequence_face::cancel_plain);
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
    return detail::initiate<Token>(completion, this->shared(), &detail::sequence_face::start_save,
                                   &detail::sequence_face::cancel_plain, std::move(path));
  }

  /// The same to a stream: an AsyncWriteStream of Asio, such as a socket, or a byte_sink. It gets the bytes of such a
  /// file, 1 MiB at a time as it takes them, and is not closed. Another operation may begin once the cache is copied,
  /// which stays in memory until all is written. Fails with the stream's error, and with io_error if what was swapped
  /// out to a file cannot be read; what was written is then no session. `stream` must live until the operation
  /// completes, which after cancellation it does when the stream's own operation has ended. Handlers without an
  /// executor of their own run on the stream's.
  template <session_sink Stream, net::completion_token_for<void(error_code)> Token = default_completion_token>
  [[nodiscard]] auto async_save(Stream& stream, Token&& completion = default_completion_token()) {
    return detail::initiate<Token>(completion, detail::new_saving(this->shared(), detail::sink_of(stream)),
                                   &detail::plain_face::start, &detail::plain_face::cancel);
  }

  /// A second sequence with the same tokens, whose cache is shared. Its random numbers are those of a new branch.
  /// Throws generation_error with error::operation_in_progress while an operation is pending.
  [[nodiscard]] basic_sequence fork() { return basic_sequence(this->face().fork()); }

  /// Cuts the sequence to its first `length` tokens. Throws std::out_of_range if it holds fewer, and generation_error
  /// with error::operation_in_progress while an operation is pending.
  void truncate(int length) { this->face().truncate(length); }

  /// Lets async_decode() sample only what the guide allows, end tokens included. It begins here: all tokens from now
  /// on, fed or sampled, are its text; an operation that feeds one that it does not accept fails with
  /// error::callback_threw. Forks get a clone; truncation and cancellation roll it back. Null: no guide from now on.
  /// async_save() saves none. Throws generation_error with error::operation_in_progress while an operation is pending.
  void constrain(std::unique_ptr<guide> guide) { this->face().constrain(std::move(guide)); }

  [[nodiscard]] std::vector<token> tokens() const { return this->face().tokens(); }  ///< without a pending operation's

  /// Whether its results are bit by bit those without swapping. False for good after a swap with swap_format::q8, or if
  /// it was opened or forked from a sequence for which that holds.
  [[nodiscard]] bool exact() const { return this->face().exact(); }

  /// When it was accepted, scheduled and so on, up to now.
  [[nodiscard]] cogen::request_metrics request_metrics() const { return this->face().request_metrics(); }
  /// Why the last operation that failed did.
  [[nodiscard]] diagnostics error() const { return this->face().error(); }
};

using sequence = basic_sequence<engine_executor>;

}  // namespace cogen
