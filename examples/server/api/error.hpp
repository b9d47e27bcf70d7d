#pragma once

#include "http/request_head.hpp"
#include "http/response.hpp"

#include <cogen/error.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace server::api {

/// Whose clients an error is written for.
enum class dialect : std::uint8_t { openai, llama, anthropic };

/// What a request is answered with instead of what it asked for. what() is the message.
class error : public std::runtime_error {
 public:
  error(int status, std::string type, const std::string& message, std::string parameter = {}, std::string code = {});

  int status() const noexcept { return status_; }                       ///< of HTTP
  const std::string& type() const noexcept { return type_; }            ///< as OpenAI and llama.cpp name it
  const std::string& parameter() const noexcept { return parameter_; }  ///< the field at fault; may be empty
  const std::string& code() const noexcept { return code_; }            ///< a finer type; may be empty

  /// Further fields of the error's JSON, in llama-server's names.
  boost::json::object details;

 private:
  int status_;
  std::string type_, parameter_, code_;
};

/// Status 400: a field is wrong.
error invalid(std::string parameter, const std::string& message);

/// Status 400: a prompt of so many tokens, or more, is too long for sequences of `length`.
error too_long(std::size_t tokens, bool or_more, int length);

/// Status 503: the server ends when what has begun is over.
error draining();

/// What went wrong: an `error` as it is, a failure of a generation by its code, anything else with status 500.
error error_of(const std::exception_ptr& thrown);
error error_of(const cogen::diagnostics& why);
error error_of(const http::parse_error& why);

/// The error as JSON, as the clients of a dialect read it.
std::string body_of(const error& failure, dialect clients);

/// The same as an answer, with `Retry-After` where a later try may succeed.
http::response response_of(const error& failure, dialect clients);

}  // namespace server::api
