#pragma once

#include <cogen/clock.hpp>
#include <cogen/detail/engine_executor.hpp>
#include <cogen/detail/operation.hpp>
#include <cogen/metrics.hpp>
#include <cogen/response_format.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/tool_call.hpp>

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

/// Usually one token, which then allocates nothing.
using piece_tokens = boost::container::small_vector<sampled_token, 1>;

/// Generated text that can no longer change: whole UTF-8 characters, no part of a stop string. Of a chat, the reasoning
/// and calls of tools are apart from the text, without what delimits them and the white space beside that.
struct piece {
  std::string text;
  piece_tokens tokens;  ///< those that have come since the last piece
  std::string reasoning = {};
  std::vector<tool_call_delta> tool_calls = {};
};

/// A whole generation.
struct completion {
  std::string text;
  std::string reasoning = {};              ///< of a chat, where the model writes it apart from its answer
  std::vector<tool_call> tool_calls = {};  ///< of a chat with tools
  std::vector<sampled_token> tokens;
  std::vector<loosened_keyword> loosened = {};  ///< see token_stream::loosened()
  finish_reason reason = finish_reason::aborted;
  cogen::usage usage;
};

/// Adds what came next to what has come.
void append(completion& whole, piece next);

/// The answer as a message of the chat that it continues, with its reasoning and its calls.
text::chat_message assistant(const completion& completion);

/// What a function returned, as the message that answers the call.
text::chat_message tool_result(const tool_call& call, std::string result);

namespace detail {

/// What a stream and the engine share: the part of `token_stream` that is not its handle.
class stream_face : public detail::result_owner {
 public:
  using next_operation = detail::operation<std::optional<piece>>;
  using complete_operation = detail::operation<completion>;
  using progress_operation = detail::operation<std::optional<prompt_progress>>;

  virtual net::any_io_executor default_executor() const = 0;
  virtual std::shared_ptr<next_operation> last_next() noexcept = 0;  ///< the wait before, given away; may be null
  virtual void start_next(std::shared_ptr<next_operation> wait, std::optional<clock::duration> limit) = 0;
  virtual void cancel_next(const next_operation& wait) noexcept = 0;
  virtual void start_complete(std::shared_ptr<complete_operation> wait) = 0;
  virtual void cancel_complete(const complete_operation& wait, net::cancellation_type type) noexcept = 0;
  virtual void start_progress(std::shared_ptr<progress_operation> wait) = 0;
  virtual void cancel_progress(const progress_operation& wait) noexcept = 0;
  virtual void stop() noexcept = 0;
  virtual void abort() noexcept = 0;
  virtual bool ended() const = 0;
  virtual std::optional<finish_reason> finish() const = 0;
  virtual cogen::usage usage() const = 0;
  virtual diagnostics error() const = 0;
  virtual std::uint64_t id() const = 0;
  virtual cogen::request_metrics request_metrics() const = 0;
  virtual std::vector<sampled_token> prompt_logprobs() const = 0;
  virtual std::optional<sampled_token> end_token() const = 0;
  virtual std::vector<loosened_keyword> loosened() const = 0;
  virtual std::optional<float> score() const { return std::nullopt; }
};

}  // namespace detail

template <class Executor>
class basic_stream_group;

/// One generation, read as pieces of text. Made by engine::generate().
///
///     while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
///
/// Destroying it ends the generation and frees its slot. Threads, lifetime and handlers: see `engine`. It has no
/// get_executor(): operations composed of it and a connection's run where the connection does, not on the engine's
/// thread.
template <class Executor>
class [[nodiscard]] basic_token_stream : public detail::handle<detail::stream_face, Executor> {
 public:
  using typename detail::handle<detail::stream_face, Executor>::default_completion_token;
  using detail::handle<detail::stream_face, Executor>::handle;

  /// The same stream with another executor type.
  template <class Other>
  struct rebind_executor {
    using other = basic_token_stream<Other>;
  };

  /// The next piece, or none at the end. Signature: void(error_code, std::optional<piece>). Fails with the code of
  /// `error()` if the generation failed. Every cancellation type ends the wait at once with operation_aborted; the
  /// piece is kept for the next call.
  template <net::completion_token_for<void(error_code, std::optional<piece>)> Token = default_completion_token>
  [[nodiscard]] auto async_next(Token&& token = default_completion_token()) {
    return initiate_next<Token>(std::nullopt, token);
  }

  /// As async_next(), but fails with error::timed_out if no piece came within `limit` of the engine's clock. The piece
  /// is kept for the next call.
  template <net::completion_token_for<void(error_code, std::optional<piece>)> Token = default_completion_token>
  [[nodiscard]] auto async_next_for(clock::duration limit, Token&& token = default_completion_token()) {
    return initiate_next<Token>(limit, token);
  }

  /// Everything from here to the end. Signature: void(error_code, completion). Fails with the code of `error()` if the
  /// generation failed. Partial and total cancellation complete without an error, with what was produced so far and
  /// finish_reason::aborted; the generation goes on and can be read. Terminal cancellation completes with
  /// operation_aborted; every piece can still be read.
  template <net::completion_token_for<void(error_code, completion)> Token = default_completion_token>
  [[nodiscard]] auto async_complete(Token&& token = default_completion_token()) {
    return detail::initiate<Token, completion>(token, this->shared(), &detail::stream_face::start_complete,
                                               &detail::stream_face::cancel_complete);
  }

  /// How much of the prompt has been read: first as it gets a slot, with what was cached, then after each step that
  /// read more of it, and none once all is read or the generation has ended. What several steps read while nobody
  /// waited is reported as one. Signature: void(error_code, std::optional<prompt_progress>). Fails with the code of
  /// `error()` if the generation failed. Every cancellation type ends the wait at once with operation_aborted, and
  /// loses nothing. May be pending beside the other operations; with a max_buffered_tokens of 0, it asks for the first
  /// token as async_next() does. Of a strategy, whose sequences have prompts of their own, there is none.
  template <
      net::completion_token_for<void(error_code, std::optional<prompt_progress>)> Token = default_completion_token>
  [[nodiscard]] auto async_prompt_progress(Token&& token = default_completion_token()) {
    return detail::initiate<Token, std::optional<prompt_progress>>(
        token, this->shared(), &detail::stream_face::start_progress, &detail::stream_face::cancel_progress);
  }

  /// Ends the generation. What was produced can still be read. No effect once it has ended.
  void stop() noexcept { this->face().stop(); }
  /// True when the generation is over; pieces may be left to read.
  [[nodiscard]] bool ended() const { return this->face().ended(); }
  /// Why it ended. Empty until it has.
  [[nodiscard]] std::optional<finish_reason> finish() const { return this->face().finish(); }
  /// What it has used so far; final once it has ended.
  [[nodiscard]] cogen::usage usage() const { return this->face().usage(); }
  /// When it was accepted, scheduled and so on; final once it has ended, and consistent with `usage()`.
  [[nodiscard]] cogen::request_metrics request_metrics() const { return this->face().request_metrics(); }
  /// The tokens of the prompt, if request::prompt_logprobs asks for them; empty until a token was generated. The first
  /// one has log-probability 0 and no others beside it, since nothing comes before it.
  [[nodiscard]] std::vector<sampled_token> prompt_logprobs() const { return this->face().prompt_logprobs(); }
  /// The token that ended the text, which no piece holds, with the log-probabilities the request asks for. Empty where
  /// the text ended another way, or has not ended.
  [[nodiscard]] std::optional<sampled_token> end_token() const { return this->face().end_token(); }
  /// The keywords of schemas that its text or its calls are not held to; of a tool, the path begins with its name.
  /// Known when the first piece, progress of the prompt, or the end has come.
  [[nodiscard]] std::vector<loosened_keyword> loosened() const { return this->face().loosened(); }
  /// What a strategy that ranks its results gave this one, once it has ended. Empty otherwise.
  [[nodiscard]] std::optional<float> score() const { return this->face().score(); }
  /// Why it failed. Empty if it has not.
  [[nodiscard]] diagnostics error() const { return this->face().error(); }

 private:
  template <class>
  friend class basic_stream_group;

  template <class Token>
  auto initiate_next(std::optional<clock::duration> limit, Token& token) {
    return detail::initiate<Token, std::optional<piece>>(token, this->shared(), &detail::stream_face::start_next,
                                                         &detail::stream_face::cancel_next, limit);
  }
};

using token_stream = basic_token_stream<engine_executor>;

}  // namespace cogen
