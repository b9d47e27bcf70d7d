#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace cogen {

using boost::system::error_code;

/// Errors of one request. Its `diagnostics` explain a particular one in a message, with the thing, value and limit.
enum class error {
  invalid_request = 1,    ///< a parameter is invalid, or names something that the model lacks
  does_not_fit,           ///< the prompt leaves no room in the context or in the memory budget
  queue_full,             ///< the queue is full, or the engine holds its maximum of sequences
  operation_in_progress,  ///< a second operation was started on a handle while one was pending
  timed_out,              ///< `async_next_for()` reached its time limit; the piece is kept
  bad_logits,             ///< the model's logits allow no token to be sampled
  callback_threw,         ///< the request's logits processor or guide threw
  out_of_memory,          ///< memory for this request was refused; other requests continue
  engine_stopped,         ///< the engine was stopped or destroyed
  device_failed,          ///< a step failed as a whole; the engine is dead
  deadline_unreachable,   ///< refused: at the pace so far it would end after its deadline
  deadline_exceeded,      ///< no token came within the request's `start_within`
  draining,               ///< the engine accepts nothing new
  bad_session,            ///< a file or stream is not a session, is damaged, or of another model or kind of cache
};

const boost::system::error_category& category() noexcept;  ///< of `error`: "cogen"
error_code make_error_code(error value) noexcept;

/// Why something failed; empty code and message if it did not. Cheap to copy. Constructors do not throw, even without
/// memory.
class diagnostics {
 public:
  diagnostics() = default;
  /// With the code's own message.
  template <std::convertible_to<error_code> Code>
  diagnostics(Code code) noexcept : code_(code) {}
  /// If there is no memory for `message`, the code's own message is used.
  diagnostics(error_code code, std::string_view message) noexcept;
  diagnostics(error code, std::string_view message) noexcept : diagnostics(make_error_code(code), message) {}

  explicit operator bool() const noexcept { return code_.failed(); }
  const error_code& code() const noexcept { return code_; }
  std::string message() const;

 private:
  friend class generation_error;

  error_code code_;
  std::shared_ptr<const std::string> message_;
};

/// What `co_await` throws if an operation of an engine, stream or sequence fails: `code()` is the code, `what()` the
/// message. Copying does not throw.
///
///     catch (const cogen::generation_error& e) { fmt::print("{}\n", e.what()); }
class generation_error : public boost::system::system_error {
 public:
  explicit generation_error(diagnostics why);  ///< throws std::bad_alloc
  const char* what() const noexcept override;
  const diagnostics& why() const noexcept { return why_; }

 private:
  diagnostics why_;
};

/// What redirect_diagnostics() makes of a completion token.
template <class Token>
class redirect_diagnostics_t {
 public:
  /// See redirect_diagnostics().
  redirect_diagnostics_t(Token token, diagnostics& why) : token_(std::move(token)), why_(&why) {}

  Token& token() noexcept { return token_; }              ///< the token that gets the results
  const Token& token() const noexcept { return token_; }  ///< the same
  diagnostics& why() const noexcept { return *why_; }     ///< where the diagnostics go

 private:
  Token token_;
  diagnostics* why_;
};

/// Adapts a completion token as net::redirect_error does, but for the message, too: `why` is set before the handler
/// runs, and the results alone go to `token`. It must live until then. To be the outermost of several adapters. With an
/// operation of another library, `why` has the message of its code.
///
///     cogen::diagnostics why;
///     const auto vectors = co_await engine.async_embed(texts, cogen::redirect_diagnostics(asio::use_awaitable, why));
template <class Token>
redirect_diagnostics_t<std::decay_t<Token>> redirect_diagnostics(Token&& token, diagnostics& why) {
  return {std::forward<Token>(token), why};
}

}  // namespace cogen

/// @cond
template <>
struct boost::system::is_error_code_enum<cogen::error> : std::true_type {};
/// @endcond
