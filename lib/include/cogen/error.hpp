#pragma once

#include <boost/system/error_code.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace cogen {

using boost::system::error_code;

/// What can go wrong with one request. The sentence that explains a particular failure, with the thing, the value and
/// the limit, is in `failure::message`.
enum class error {
  invalid_request = 1,    ///< a parameter makes no sense, or names something the model does not have
  does_not_fit,           ///< the prompt leaves no room in the context or in the memory budget
  queue_full,             ///< as many sequences as may wait do so, or the engine holds as many as it may
  operation_in_progress,  ///< a second operation was started on a handle while one was pending
  timed_out,              ///< async_next_for() reached its time limit; the piece is kept
  bad_logits,             ///< the model produced nothing a token could be sampled from
  callback_threw,         ///< the request's own logits processor threw
  out_of_memory,          ///< memory for this request was refused; the others go on
  engine_stopped,         ///< the engine was stopped or destroyed
  device_failed,          ///< a step failed as a whole; the engine is dead
  deadline_unreachable,   ///< refused: at the pace so far it would have ended after its deadline
  deadline_exceeded,      ///< no token came within the request's `start_within()`
  draining,               ///< the engine begins nothing any more
  bad_session,            ///< a file is no session, is damaged, or is one of another model or another kind of cache
};

/// The category of `error`: "cogen".
const boost::system::error_category& category() noexcept;

error_code make_error_code(error value) noexcept;

/// Why a stream or sequence ended badly: empty code and message while nothing has gone wrong. Cheap to copy; none of
/// its constructors throws, so that a failure can be told also where memory has run out.
class diagnostics {
 public:
  diagnostics() = default;
  /// Where there is no memory for the sentence, the code's own stands in for it.
  diagnostics(error_code code, std::string_view message) noexcept;
  diagnostics(error code, std::string_view message) noexcept : diagnostics(make_error_code(code), message) {}

  explicit operator bool() const noexcept { return code_.failed(); }
  const error_code& code() const noexcept { return code_; }
  std::string message() const;

 private:
  error_code code_;
  std::shared_ptr<const std::string> message_;
};

}  // namespace cogen

template <>
struct boost::system::is_error_code_enum<cogen::error> : std::true_type {};
