#include "routes/table.hpp"

#include "api_keys.hpp"
#include "http/router.hpp"
#include "request_log.hpp"
#include "request_origin.hpp"
#include "routes/routes.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace server {
namespace {

using plain_route = http::response (*)(call&);

/// A route that answers without waiting.
auto plain(plain_route answer) {
  return [answer](call& client) -> net::awaitable<void> { co_await client.client.respond(answer(client)); };
}

std::vector<route> make_table() {
  using enum access;
  using enum api::dialect;
  // clang-format off
  return {
      {"GET", "/", plain(chat_page), anyone},
      {"GET", "/health", plain(health), anyone},
      {"GET", "/v1/health", plain(health), anyone},
      {"GET", "/models", plain(list_models), anyone},
      {"GET", "/v1/models", plain(list_models), anyone},
      {"GET", "/v1/models/{id...}", plain(one_model)},
      {"GET", "/version", plain(version)},
      {"GET", "/metrics", plain(show_metrics), operators},
      {"GET", "/slots", plain(show_slots), with_key, llama},
      {"GET", "/props", plain(show_props), with_key, llama},
      {"GET", "/tokenizer_info", plain(tokenizer_info)},

      {"POST", "/v1/chat/completions", chat_completions},
      {"POST", "/chat/completions", chat_completions},
      {"POST", "/v1/completions", completions},
      {"POST", "/v1/responses", responses},
      {"POST", "/responses", responses},
      {"POST", "/v1/responses/input_tokens", response_input_tokens},
      {"POST", "/responses/input_tokens", response_input_tokens},
      {"POST", "/v1/chat/completions/input_tokens", input_tokens, with_key, llama},
      {"POST", "/chat/completions/input_tokens", input_tokens, with_key, llama},
      {"POST", "/v1/embeddings", embeddings},
      {"POST", "/embeddings", embeddings},
      {"POST", "/v1/rerank", rerank},
      {"POST", "/rerank", rerank},
      {"POST", "/v1/reranking", rerank},
      {"POST", "/reranking", rerank},

      {"POST", "/v1/messages", messages, with_key, anthropic},
      {"POST", "/v1/messages/count_tokens", count_tokens, with_key, anthropic},

      {"POST", "/slots/{id}", slot_action, with_key, llama},
      {"GET", "/slots/{id}/session", download_session, with_key, llama},
      {"PUT", "/slots/{id}/session", upload_session, with_key, llama, true},
      {"POST", "/completion", llama_completion, with_key, llama},
      {"POST", "/completions", llama_completion, with_key, llama},
      {"POST", "/infill", infill, with_key, llama},
      {"POST", "/tokenize", tokenize, with_key, llama},
      {"POST", "/detokenize", detokenize, with_key, llama},
      {"POST", "/apply-template", apply_template, with_key, llama},
  };
  // clang-format on
}

/// The route of a request. Throws api::error if there is none.
const route& route_of(const http::request& request, http::fields& matched) {
  std::string methods;
  for (const auto& each : all_routes()) {
    auto found = http::matched(each.pattern, request.path);
    if (!found) continue;
    if (each.method == request.method || (each.method == "GET" && request.method == "HEAD")) {
      matched = std::move(*found);
      return each;
    }
    methods += (methods.empty() ? "" : ", ") + std::string(each.method);
  }
  const auto path = request.path.substr(0, 200);
  if (methods.empty()) throw api::error(404, "not_found_error", fmt::format("there is no {}", path));
  throw api::error(405, "invalid_request_error",
                   fmt::format("{} takes {}, not {}", path, methods, request.method.substr(0, 20)));
}

/// The client's own `x-request-id`, if it is one that a log can hold; else a new one.
std::string id_of(const http::request& request) {
  const auto given = request.header("x-request-id");
  if (given && !given->empty() && given->size() <= 128 && http::is_header_text(*given)) return std::string(*given);
  return api::new_id("req-");
}

/// Lets pages of the chosen origin read the answer.
void allow_origin(const application& app, http::exchange& client) {
  if (app.settings.cors.empty()) return;
  client.add_header("Access-Control-Allow-Origin", app.settings.cors);
  client.add_header("Access-Control-Expose-Headers", "x-request-id");
}

/// What a browser asks before it sends a request of another origin.
http::response preflight() {
  return {.status = 204,
          .type = "",
          .headers = {{"Access-Control-Allow-Methods", "GET, POST, PUT, OPTIONS"},
                      {"Access-Control-Allow-Headers", "*, Authorization"},
                      {"Access-Control-Max-Age", "86400"}}};
}

/// Who asks, and for what, is known by the header; only then a body is read.
net::awaitable<void> answer(call& caller) {
  check_origin(caller.request(), caller.app.settings);
  if (caller.request().method == "OPTIONS" && !caller.app.settings.cors.empty()) {
    co_await caller.client.respond(preflight());
    co_return;
  }
  const auto& found = route_of(caller.request(), caller.matched);
  caller.errors = found.errors;
  if (found.who != access::anyone) caller.tenant = tenant_of(caller.request(), caller.app.settings.api_keys);
  if (found.who == access::operators) check_operator(caller.tenant, caller.app.settings);
  if (caller.tenant != 0) caller.client.set_owner("key " + std::to_string(caller.tenant));
  if (caller.app.draining && found.method != "GET") throw api::draining();
  if (!found.reads_body) caller.body = co_await caller.client.read_whole_body();
  co_await found.answer(caller);
}

}  // namespace

std::span<const route> all_routes() {
  static const auto table = make_table();
  return table;
}

net::awaitable<void> dispatch(application& app, http::exchange& client) {
  call caller{app, client, id_of(client.request())};
  client.add_header("x-request-id", caller.id);
  allow_origin(app, client);
  request_log log(caller);
  std::exception_ptr failed;
  try {
    co_await answer(caller);
  } catch (...) {
    failed = std::current_exception();
  }
  app.freed.add(caller.touched);
  if (failed && client.status() == 0) co_await client.respond(api::response_of(api::error_of(failed), caller.errors));
}

}  // namespace server
