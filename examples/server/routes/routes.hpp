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
http::response show_metrics(call& client);
http::response show_slots(call& client);
http::response show_props(call& client);
http::response tokenizer_info(call& client);

// OpenAI's API.
net::awaitable<void> chat_completions(call& client);
net::awaitable<void> completions(call& client);
net::awaitable<void> responses(call& client);
net::awaitable<void> embeddings(call& client);
net::awaitable<void> rerank(call& client);

// Anthropic's.
net::awaitable<void> messages(call& client);
net::awaitable<void> count_tokens(call& client);

// llama-server's.
net::awaitable<void> llama_completion(call& client);
net::awaitable<void> infill(call& client);
net::awaitable<void> slot_action(call& client);
net::awaitable<void> download_session(call& client);  // not llama-server's, but beside its slots
net::awaitable<void> upload_session(call& client);
net::awaitable<void> tokenize(call& client);
net::awaitable<void> detokenize(call& client);
net::awaitable<void> apply_template(call& client);
net::awaitable<void> input_tokens(call& client);
net::awaitable<void> response_input_tokens(call& client);

}  // namespace server
