#pragma once

#include <cogen/async/engine_executor.hpp>
#include <cogen/async/operation.hpp>
#include <cogen/logits.hpp>
#include <cogen/request_metrics.hpp>
#include <cogen/sampled_token.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/token.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <filesystem>
#include <vector>

namespace cogen {

/// Which logits `forward()` brings: those after the last token, or after each of them.
enum class logits_of { last, all };

namespace detail {

/// What a sequence's handle and the engine share.
class sequence_face {
 public:
  using forward_operation = async::operation<logits>;
  using decode_operation = async::operation<sampled_token>;
  using plain_operation = async::operation<>;

  virtual ~sequence_face() = default;
  virtual async::engine_executor executor() const = 0;
  virtual net::any_io_executor default_executor() const = 0;
  virtual void start_forward(std::shared_ptr<forward_operation> wait, std::vector<token> tokens, logits_of which) = 0;
  virtual void cancel_forward(const forward_operation& wait) noexcept = 0;
  virtual void start_decode(std::shared_ptr<decode_operation> wait, std::vector<token> tokens, sampling_params how) = 0;
  virtual void cancel_decode(const decode_operation& wait) noexcept = 0;
  virtual void start_suspend(std::shared_ptr<plain_operation> wait) = 0;
  virtual void start_save(std::shared_ptr<plain_operation> wait, std::filesystem::path path) = 0;
  virtual void cancel_plain(const plain_operation& wait) noexcept = 0;
  virtual std::shared_ptr<sequence_face> fork() = 0;
  virtual void truncate(int length) = 0;
  virtual std::vector<token> tokens() const = 0;
  virtual bool exact() const = 0;
  virtual diagnostics error() const = 0;
  virtual std::uint64_t id() const = 0;
  virtual cogen::request_metrics request_metrics() const = 0;
  virtual void abort() noexcept = 0;
};

}  // namespace detail

/// A place in the engine's batch under its owner's control: it is fed tokens, and awaited for logits or for a sampled
/// token. Decoding strategies (search, constrained output, speculation, agents) are coroutines over sequences; all of
/// them share one batch, because each is merely suspended at the next step.
///
/// Move-only; destroying it frees its place. Members may be called from any thread. One operation may be pending at a
/// time: a second one completes with error::operation_in_progress. A handle may outlive its engine; its operations then
/// complete with error::engine_stopped.
///
/// Handlers run on their associated executor, by default the engine's, as if by post. Every cancellation type ends an
/// operation at once with operation_aborted and leaves the sequence as it was before the operation began. After any
/// other error of an operation it is so, too, but for error::out_of_memory: where the engine had no memory left to go
/// on with the sequence, that has ended, and says so from then on. While the engine drains, and before a sequence's
/// first slot where the queue is full, operations fail at once with error::draining and error::queue_full.
class sequence {
 public:
  using executor_type = async::engine_executor;

  explicit sequence(std::shared_ptr<detail::sequence_face> shared) noexcept : shared_(std::move(shared)) {}
  sequence(sequence&&) noexcept = default;
  sequence& operator=(sequence&& other) noexcept {
    abort();
    shared_ = std::move(other.shared_);
    return *this;
  }
  ~sequence() { abort(); }

  executor_type get_executor() const { return shared_->executor(); }

  /// Appends `tokens` and gives their logits. Without tokens: the logits after the last token held, once more.
  net::awaitable<logits> forward(std::vector<token> tokens, logits_of which = logits_of::last);

  /// Signature: void(error_code, logits).
  template <net::completion_token_for<void(error_code, logits)> Token = net::deferred_t>
  auto async_forward(std::vector<token> tokens, logits_of which = logits_of::last, Token&& completion = {}) {
    // By value: the handler may run, and end the coroutine that holds the arguments, before this returns.
    return net::async_initiate<Token, void(error_code, logits)>(
        [](auto handler, std::shared_ptr<detail::sequence_face> shared, std::vector<token> fed, logits_of wanted) {
          auto cancel = [weak = std::weak_ptr(shared)](net::cancellation_type, const auto& wait) {
            if (auto face = weak.lock()) face->cancel_forward(*wait);
          };
          using operation = detail::sequence_face::forward_operation;
          auto wait = operation::make(std::move(handler), shared->default_executor(), std::move(cancel));
          shared->start_forward(std::move(wait), std::move(fed), wanted);
        },
        completion, shared_, std::move(tokens), which);
  }

  /// Appends a token sampled from the distribution after the last token held, and gives it. Needs at least one token
  /// held.
  net::awaitable<sampled_token> decode(sampling_params how = {});

  /// Appends `tokens`, then one sampled after them, which it gives.
  net::awaitable<sampled_token> decode(std::vector<token> tokens, sampling_params how = {});

  /// Signature: void(error_code, sampled_token).
  template <net::completion_token_for<void(error_code, sampled_token)> Token = net::deferred_t>
  auto async_decode(std::vector<token> tokens, sampling_params how = {}, Token&& completion = {}) {
    return net::async_initiate<Token, void(error_code, sampled_token)>(
        [](auto handler, std::shared_ptr<detail::sequence_face> shared, std::vector<token> fed,
           sampling_params sampled) {
          auto cancel = [weak = std::weak_ptr(shared)](net::cancellation_type, const auto& wait) {
            if (auto face = weak.lock()) face->cancel_decode(*wait);
          };
          using operation = detail::sequence_face::decode_operation;
          auto wait = operation::make(std::move(handler), shared->default_executor(), std::move(cancel));
          shared->start_decode(std::move(wait), std::move(fed), std::move(sampled));
        },
        completion, shared_, std::move(tokens), std::move(how));
  }

  /// Leaves its slot at once, though nobody waits for that: its owner waits for something else, and knows that it takes
  /// long. Completes when what was cached is safe on the host, out of the slot; at once where nothing is cached. Where
  /// there is no room for that (engine_options.swap.bytes), or it is lost on its way, it completes too: the sequence
  /// then runs its tokens again when it goes on. Either way it goes on by itself with the next operation, to the same
  /// bits; with swap_format::q8 not to the same bits, where it was swapped out.
  ///
  /// A cancelled wait loses nothing: the slot is given up all the same. Works while the engine drains, which does not
  /// wait for it.
  net::awaitable<void> suspend();

  /// Signature: void(error_code).
  template <net::completion_token_for<void(error_code)> Token = net::deferred_t>
  auto async_suspend(Token&& completion = {}) {
    return net::async_initiate<Token, void(error_code)>(
        [](auto handler, std::shared_ptr<detail::sequence_face> shared) {
          shared->start_suspend(plain_wait(std::move(handler), shared));
        },
        completion, shared_);
  }

  /// Writes the sequence to a file, from which engine::open() takes it up again, in this process or another one: its
  /// tokens, its random numbers, its encoder input and what it has cached. The sequence stays as it is, and where it
  /// is: what it has cached is copied while steps go on, in memory beside engine_options.swap.bytes until it is
  /// written, and its next operation waits for the copy. Where that is lost on its way, and where an own runner gives
  /// out no snapshots, the session holds tokens alone: whoever opens it runs them again, to the same bits.
  ///
  /// What is in its slot is written bit by bit. What is swapped out with swap_format::q8 is written as it would come
  /// back, and the session says so. One of a sequence that is exact() no more says that, too.
  ///
  /// The file is written under another name beside `path`, and takes its place when it is whole and on the disk: where
  /// this fails or is cancelled, what was there before is still there. Fails with the system's error where a file
  /// cannot be written. Works while the engine drains, which does not wait for it.
  net::awaitable<void> save(std::filesystem::path path);

  /// Signature: void(error_code).
  template <net::completion_token_for<void(error_code)> Token = net::deferred_t>
  auto async_save(std::filesystem::path path, Token&& completion = {}) {
    return net::async_initiate<Token, void(error_code)>(
        [](auto handler, std::shared_ptr<detail::sequence_face> shared, std::filesystem::path into) {
          shared->start_save(plain_wait(std::move(handler), shared), std::move(into));
        },
        completion, shared_, std::move(path));
  }

  /// A second sequence that holds the same tokens and goes its own way from here; what both hold is shared, not
  /// computed again. Its random numbers are those of a new branch. Throws error::operation_in_progress (as
  /// system_error) while an operation is pending.
  sequence fork() { return sequence(shared_->fork()); }

  /// Cuts the sequence to its first `length` tokens. Throws std::out_of_range when it holds fewer, and
  /// error::operation_in_progress (as system_error) while an operation is pending.
  void truncate(int length) { shared_->truncate(length); }

  /// The tokens it holds, those of a pending operation not yet among them.
  std::vector<token> tokens() const { return shared_->tokens(); }

  /// Whether all that it has given is what it would have given alone: false for good once it has come back from a
  /// swap-out with swap_format::q8, or from a session for which that holds, and for its forks from then on.
  bool exact() const { return shared_->exact(); }

  /// When what happened to it, up to now.
  cogen::request_metrics request_metrics() const { return shared_->request_metrics(); }

  /// Names it among all that one engine is asked for, as events and traces do.
  std::uint64_t id() const { return shared_->id(); }

  /// Why the last operation that failed did, in words.
  diagnostics error() const { return shared_->error(); }

 private:
  template <class Handler>
  static auto plain_wait(Handler handler, const std::shared_ptr<detail::sequence_face>& shared) {
    auto cancel = [weak = std::weak_ptr(shared)](net::cancellation_type, const auto& wait) {
      if (auto face = weak.lock()) face->cancel_plain(*wait);
    };
    using operation = detail::sequence_face::plain_operation;
    return operation::make(std::move(handler), shared->default_executor(), std::move(cancel));
  }

  void abort() noexcept {
    if (shared_) shared_->abort();
  }

  std::shared_ptr<detail::sequence_face> shared_;
};

inline net::awaitable<logits> sequence::forward(std::vector<token> tokens, logits_of which) {
  return async_forward(std::move(tokens), which, net::use_awaitable);
}

inline net::awaitable<sampled_token> sequence::decode(std::vector<token> tokens, sampling_params how) {
  return async_decode(std::move(tokens), std::move(how), net::use_awaitable);
}

inline net::awaitable<void> sequence::save(std::filesystem::path path) {
  return async_save(std::move(path), net::use_awaitable);
}

inline net::awaitable<void> sequence::suspend() { return async_suspend(net::use_awaitable); }

inline net::awaitable<sampled_token> sequence::decode(sampling_params how) {
  return decode(std::vector<token>{}, std::move(how));
}

}  // namespace cogen
