#pragma once

#include "application.hpp"

#include <boost/asio/awaitable.hpp>

namespace server {

// Answers that need no waiting.
http::response health(call& client);
http::response list_models(call& client);
http::response one_model(call& client);
http::response version(call& client);
http::response chat_page(call& client);

// OpenAI's API.
net::awaitable<void> chat_completions(call& client);
net::awaitable<void> completions(call& client);

}  // namespace server
