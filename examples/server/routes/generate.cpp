#include "routes/generate.hpp"

#include "api/completion_fields.hpp"
#include "api/field_reader.hpp"
#include "api/loosened_keywords.hpp"
#include "http/event_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>

namespace server {
namespace {

net::awaitable<void> send(http::event_stream& events, std::vector<event> several) {
  for (const auto& each : several) co_await events.send(each.data, each.name);
}

/// Before the answer has begun.
void tell_loosened(call& client, const api::merged_streams& streams) {
  if (!client.loosened.empty()) return;
  client.loosened = streams.streams().front().loosened();
  if (!client.loosened.empty()) client.client.add_header("X-Loosened-Keywords", api::header_of(client.loosened));
}

/// About how many bytes the events of what comes next have.
std::size_t event_bytes(const api::stream_event& next, const event_writer& writer) {
  const auto own = next.piece ? weight_of(next.piece->tokens) : 0;
  return own + writer.repeated_bytes(next.piece.has_value());
}

net::awaitable<void> send_all(call& client, http::event_stream& events, api::merged_streams& streams,
                              event_writer& writer) {
  while (!streams.ended()) {
    const auto next = co_await streams.next(client.app.settings.ping);
    if (client.client.status() == 0) tell_loosened(client, streams);
    if (next)
      co_await send(events, co_await off_loop(client, event_bytes(*next, writer), [&] {
                      return next->progress ? writer.on_progress(*next) : writer.on(*next);
                    }));
    else
      co_await events.ping();
  }
  co_await send(events, co_await off_loop(client, writer.repeated_bytes(false), [&] { return writer.last(); }));
}

/// Throws api::error for more answers than slots and queue hold.
std::vector<cogen::token_stream> begin_several(const served_model& model, api::generation what) try {
  return model.engine->generate_n(std::move(what.request), what.n);
} catch (const std::invalid_argument& e) {
  throw api::invalid("n", e.what());
}

/// A prompt that is too long has its length and the limit in fields of their own.
api::error refusal(const cogen::diagnostics& why, const cogen::token_stream& stream, const served_model& model) {
  const int tokens = stream.usage().prompt_tokens;
  if (why.code() != cogen::error::does_not_fit || tokens < model.max_length) return api::error_of(why);
  return api::too_long(static_cast<std::size_t>(tokens), false, model.max_length);
}

}  // namespace

net::awaitable<void> hold(call& client, std::size_t bytes) {
  const auto& requests = *client.app.requests;
  if (bytes > requests.limit() / 2)
    throw api::invalid("", fmt::format("the request would hold about {} bytes until it is answered; it may hold {}",
                                       bytes, requests.limit() / 2));
  if (!co_await client.held.async_grow_to(bytes, std::chrono::steady_clock::now() + std::chrono::seconds(30)))
    throw api::error(503, "unavailable_error",
                     fmt::format("all requests together may hold {} bytes until they are answered, and there is no "
                                 "room for another",
                                 requests.limit()));
}

net::awaitable<void> hold_parsed_body(call& client) {
  constexpr std::size_t parsed = 8;
  client.held = {client.app.requests, client.client.owner()};
  co_await hold(client, std::min<std::size_t>(parsed * client.body.size(), client.app.requests->limit() / 2));
}

boost::json::object parse_fields(call& client, const std::string& text) {
  auto fields = api::parse_body(text);
  api::add_defaults(client.app.settings.defaults, fields);
  const auto name = api::field_reader(fields).text("model");
  constexpr std::size_t max_name = 256;  // which each part of an answer repeats
  if (name && name->size() > max_name)
    throw api::invalid("model",
                       fmt::format("model is a name of {} bytes; it must have at most {}", name->size(), max_name));
  client.model = client.app.models.named(name);
  client.model_name = name.value_or(client.model->name);
  return fields;
}

std::vector<cogen::token_stream> begin(const served_model& model, api::generation what) {
  std::vector<cogen::token_stream> streams;
  if (model.drafts) what.request.speculative = model.drafts->for_request(what.request, what.max_draft_tokens);
  if (what.n == 1)
    streams.push_back(model.engine->generate(std::move(what.request)));
  else
    streams = begin_several(model, std::move(what));
  if (const auto why = streams.front().error()) throw refusal(why, streams.front(), model);
  return streams;
}

std::size_t copied_bytes(const cogen::request& what, std::size_t times) {
  constexpr std::size_t bytes_of_bias = 64;
  return times * bytes_of_bias * what.sampling.logit_bias.size();
}

std::size_t weight_of(std::span<const cogen::sampled_token> tokens) {
  constexpr std::size_t bytes_of_token = 64;
  std::size_t count = tokens.size();
  for (const auto& each : tokens) count += each.top.size();
  return bytes_of_token * count;
}

std::size_t weight_of(const std::vector<cogen::completion>& answers) {
  std::size_t weight = 0;
  for (const auto& each : answers) weight += each.text.size() + each.reasoning.size() + weight_of(each.tokens);
  return weight;
}

net::awaitable<std::vector<cogen::completion>> collect(call& client, api::merged_streams& streams) {
  std::vector<cogen::completion> all(streams.streams().size());
  constexpr auto long_time = std::chrono::hours(1);
  std::size_t logprobs = 0;
  while (!streams.ended()) {
    auto next = co_await streams.next(long_time);
    if (!next) continue;
    auto& one = all[next->stream];
    if (auto& piece = next->piece) {
      for (const auto& token : piece->tokens) logprobs += token.top.size();
      if (logprobs > api::max_logprobs_of_answer)
        throw api::invalid("", fmt::format("the answer has more than {} log-probabilities beside those of its tokens; "
                                           "ask for fewer, or for a stream",
                                           api::max_logprobs_of_answer));
      one.text += piece->text;
      one.reasoning += piece->reasoning;
      one.tokens.insert(one.tokens.end(), piece->tokens.begin(), piece->tokens.end());
      append(one.tool_calls, std::move(piece->tool_calls));
    } else {
      const auto& stream = streams.streams()[next->stream];
      one.reason = *stream.finish();
      one.usage = stream.usage();
    }
  }
  tell_loosened(client, streams);
  co_return all;
}

net::awaitable<void> send_events(call& client, api::merged_streams& streams, event_writer& writer) {
  http::event_stream events(client.client);
  std::exception_ptr failed;
  try {
    co_await send_all(client, events, streams, writer);
  } catch (...) {
    failed = std::current_exception();
  }
  if (failed && client.client.status() == 0) std::rethrow_exception(failed);
  if (failed) co_await send(events, writer.failed(api::error_of(failed)));
  co_await events.end();
}

}  // namespace server
