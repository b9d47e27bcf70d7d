#pragma once

#include "application.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace server {

/// Who may ask.
enum class access : std::uint8_t {
  anyone,
  with_key,
  operators  ///< what is of all keys: a key of --operator-key-file, or the only one
};

/// What answers which requests.
struct route {
  std::string_view method;
  std::string_view pattern;  ///< see http::matched()
  std::function<net::awaitable<void>(call&)> answer;
  access who = access::with_key;
  api::dialect errors = api::dialect::openai;
  bool reads_body = false;  ///< itself, by exchange::read_body(), whatever its length
};

std::span<const route> all_routes();

/// Answers a request by its route, or with an error. Throws only what the client's leaving throws.
net::awaitable<void> dispatch(application& app, http::exchange& client);

}  // namespace server
