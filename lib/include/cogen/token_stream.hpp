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
class stream_state;
}

/// What a token_stream does whatever its executor type is.
class stream_handle : public detail::handle<detail::stream_state> {
 public:
  using handle::handle;

  /// Ends the generation. What was produced can still be read. No effect once it has ended.
  void stop() noexcept;
  /// True when the generation is over; pieces may be left to read.
  [[nodiscard]] bool ended() const;
  /// Why it ended. Empty until it has.
  [[nodiscard]] std::optional<finish_reason> finish() const;
  /// What it has used so far; final once it has ended.
  [[nodiscard]] cogen::usage usage() const;
  /// When it was accepted, scheduled and so on; final once it has ended, and consistent with `usage()`.
  [[nodiscard]] cogen::request_metrics request_metrics() const;
  /// The tokens of the prompt, if request::prompt_logprobs asks for them; empty until a token was generated. The first
  /// one has log-probability 0 and no others beside it, since nothing comes before it.
  [[nodiscard]] std::vector<sampled_token> prompt_logprobs() const;
  /// The token that ended the text, which no piece holds, with the log-probabilities the request asks for. Empty where
  /// the text ended another way, or has not ended.
  [[nodiscard]] std::optional<sampled_token> end_token() const;
  /// The keywords of schemas that its text or its calls are not held to; of a tool, the path begins with its name.
  /// Known when the first piece, progress of the prompt, or the end has come.
  [[nodiscard]] std::vector<loosened_keyword> loosened() const;
  /// What a strategy that ranks its results gave this one, once it has ended. Empty otherwise.
  [[nodiscard]] std::optional<float> score() const;
  /// Why it failed. Empty if it has not.
  [[nodiscard]] diagnostics error() const;
  /// Its number in the engine's events and traces.
  [[nodiscard]] std::uint64_t id() const;

 protected:
  detail::initiation<std::optional<piece>(std::optional<clock::duration>)> next_initiation() const;
  detail::initiation<completion()> complete_initiation() const;
  detail::initiation<std::optional<prompt_progress>()> progress_initiation() const;
};

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
class [[nodiscard]] basic_token_stream : public stream_handle {
 public:
  using executor_type = Executor;
  using default_completion_token = net::default_completion_token_t<executor_type>;
  using stream_handle::stream_handle;

  /// Takes over a stream with another executor type.
  basic_token_stream(stream_handle&& other) noexcept : stream_handle(std::move(other)) {}

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
    return detail::initiate<Token>(token, next_initiation(), std::nullopt);
  }

  /// As async_next(), but fails with error::timed_out if no piece came within `limit` of the engine's clock. The piece
  /// is kept for the next call.
  template <net::completion_token_for<void(error_code, std::optional<piece>)> Token = default_completion_token>
  [[nodiscard]] auto async_next_for(clock::duration limit, Token&& token = default_completion_token()) {
    return detail::initiate<Token>(token, next_initiation(), std::optional(limit));
  }

  /// Everything from here to the end. Signature: void(error_code, completion). Fails with the code of `error()` if the
  /// generation failed. Partial and total cancellation complete without an error, with what was produced so far and
  /// finish_reason::aborted; the generation goes on and can be read. Terminal cancellation completes with
  /// operation_aborted; every piece can still be read.
  template <net::completion_token_for<void(error_code, completion)> Token = default_completion_token>
  [[nodiscard]] auto async_complete(Token&& token = default_completion_token()) {
    return detail::initiate<Token>(token, complete_initiation());
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
    return detail::initiate<Token>(token, progress_initiation());
  }

 private:
  template <class>
  friend class basic_stream_group;
};

using token_stream = basic_token_stream<engine_executor>;

}  // namespace cogen
