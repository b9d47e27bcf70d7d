#include "api/error.hpp"

#include "api/json_text.hpp"
#include "api/valid_text.hpp"
#include "http/body_error.hpp"

#include <boost/asio/error.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <new>
#include <utility>

namespace server::api {
namespace {

namespace json = boost::json;

constexpr auto invalid_request = "invalid_request_error";
constexpr auto unavailable = "unavailable_error";
constexpr auto server_error = "server_error";

std::string_view anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

json::value null_if_empty(const std::string& text) { return text.empty() ? json::value() : json::value(text); }

/// Nobody reads it.
error client_left() { return {499, server_error, "the client has left"}; }

/// Whether a connection that a client has ended, or that was closed under it, fails like that.
bool is_of_connection(const boost::system::error_code& code) {
  namespace asio = boost::asio::error;
  const boost::system::error_code ends[] = {
      asio::operation_aborted, asio::connection_reset, asio::broken_pipe,    asio::connection_aborted,
      asio::not_connected,     asio::timed_out,        asio::bad_descriptor, asio::eof};
  return std::ranges::find(ends, code) != std::end(ends);
}

error no_memory() { return {503, unavailable, "the server is out of memory", "", "out_of_memory"}; }

/// What may be a message of a library is for the log alone.
error inner_error(std::string why) {
  fmt::print(stderr, "cogen-server: a request failed: {}\n", json_text(json::value(valid_text(std::move(why)))));
  return {500, server_error, "the request failed within the server, whose log says why"};
}

json::object with_details(json::object body, const error& failure) {
  for (const auto& [name, value] : failure.details) body[name] = value;
  return body;
}

}  // namespace

error::error(int status, std::string type, const std::string& message, std::string parameter, std::string code)
    : std::runtime_error(message),
      status_(status),
      type_(std::move(type)),
      parameter_(std::move(parameter)),
      code_(std::move(code)) {}

error invalid(std::string parameter, const std::string& message) {
  return {400, invalid_request, message, std::move(parameter)};
}

error too_long(std::size_t tokens, bool or_more, int length) {
  error result(400, "exceed_context_size_error",
               fmt::format("the prompt of {}{} tokens exceeds the available context size of {} tokens",
                           or_more ? "at least " : "", tokens, length),
               "", "context_length_exceeded");
  result.details = {{"n_prompt_tokens", tokens}, {"n_ctx", length}};
  return result;
}

error draining() { return {503, unavailable, "the server is draining", "", "draining"}; }

error error_of(const cogen::diagnostics& why) {
  using code = cogen::error;
  if (is_of_connection(why.code())) return client_left();
  if (why.code().category() != cogen::category()) return inner_error(why.message());
  switch (static_cast<code>(why.code().value())) {
    case code::invalid_request:
      return {400, invalid_request, why.message()};
    case code::bad_session:
      return {400, invalid_request, why.message(), "filename"};
    case code::does_not_fit:
      return {400, "exceed_context_size_error", why.message(), "", "context_length_exceeded"};
    case code::queue_full:
      return {429, "rate_limit_error", why.message(), "", "queue_full"};
    case code::draining:
      return {503, unavailable, why.message(), "", "draining"};
    case code::deadline_unreachable:
      return {503, unavailable, why.message(), "", "deadline_unreachable"};
    case code::deadline_exceeded:
      return {504, "timeout_error", why.message(), "", "deadline_exceeded"};
    case code::out_of_memory:
      return no_memory();
    case code::callback_threw:
    case code::device_failed:
      return inner_error(why.message());
    case code::engine_stopped:
      return {503, unavailable, why.message(), "", "engine_stopped"};
    default:
      return {500, server_error, why.message()};
  }
}

error error_of(const http::parse_error& why) {
  return {why.status, why.status == 503 ? unavailable : invalid_request, why.message};
}

error error_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const error& e) {
    return e;
  } catch (const cogen::generation_error& e) {
    return error_of(e.why());
  } catch (const http::body_error& e) {
    return error_of(http::parse_error{e.status(), e.what()});
  } catch (const boost::system::system_error& e) {
    return is_of_connection(e.code()) ? client_left() : inner_error(e.what());
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& e) {
    return inner_error(e.what());
  } catch (...) {
    return inner_error("an exception of unknown type");
  }
}

std::string body_of(const error& failure, dialect clients) {
  const auto message = valid_text(failure.what());
  switch (clients) {
    case dialect::anthropic:
      return json_text(json::value{{"type", "error"},
                                   {"error", {{"type", anthropic_type(failure.status())}, {"message", message}}}});
    case dialect::llama:
      return json_text(json::value{
          {"error",
           with_details({{"code", failure.status()}, {"message", message}, {"type", failure.type()}}, failure)}});
    default:
      return json_text(json::value{{"error", with_details({{"message", message},
                                                           {"type", failure.type()},
                                                           {"param", null_if_empty(failure.parameter())},
                                                           {"code", null_if_empty(failure.code())}},
                                                          failure)}});
  }
}

http::response response_of(const error& failure, dialect clients) {
  http::response answer{.status = failure.status(), .body = body_of(failure, clients)};
  if (failure.status() == 429 || failure.status() == 503) answer.headers.emplace_back("Retry-After", "1");
  if (failure.status() == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace server::api
