#include "routes/generate.hpp"

#include "api/completion_fields.hpp"
#include "api/field_reader.hpp"
#include "api/loosened_keywords.hpp"
#include "http/event_stream.hpp"

#include <cogen/error.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <stdexcept>

namespace server {
namespace {

net::awaitable<void> send(http::event_stream& events, std::vector<event> several) {
  for (const auto& each : several) co_await events.send(each.data, each.name);
}

/// Before the answer has begun.
void tell_loosened(call& client, const cogen::stream_group& streams) {
  if (!client.loosened.empty()) return;
  client.loosened = streams[0].loosened();
  if (!client.loosened.empty()) client.client.add_header("X-Loosened-Keywords", api::header_of(client.loosened));
}

/// About how many bytes the events of what comes next have.
std::size_t event_bytes(const cogen::stream_event& next, const event_writer& writer) {
  const bool is_piece = !next.progress && !next.finish;
  return weight_of(next.piece.tokens) + writer.repeated_bytes(is_piece);
}

/// Waits for what comes next, unless it is time for a ping.
class timed_reader {
 public:
  timed_reader(call& client, cogen::stream_group& streams)
      : streams_(streams), limit_(client.app.settings.ping), ping_(client.app.context) {
    restart();
  }

  /// Something was sent.
  void restart() { ping_.expires_after(limit_); }

  /// Whether there is something: `event`, which is empty at the end. Throws generation_error if a stream fails.
  net::awaitable<bool> wait() {
    cogen::diagnostics why;
    const auto here = net::bind_executor(ping_.get_executor(), net::deferred);  // a group's handlers have no executor
    auto both = net::experimental::make_parallel_group(
        streams_.async_next_event(cogen::redirect_diagnostics(here, why)), ping_.async_wait(net::deferred));
    auto [order, next, pinged] = co_await both.async_wait(net::experimental::wait_for_one(), net::use_awaitable);
    event = std::move(next);
    const bool is_aborted = why.code() == net::error::operation_aborted;
    if (why && (!is_aborted || pinged)) throw cogen::generation_error(why);
    co_return !is_aborted;
  }

  std::optional<cogen::stream_event> event;

 private:
  cogen::stream_group& streams_;
  std::chrono::milliseconds limit_;
  net::steady_timer ping_;
};

/// Writes what comes as events.
class event_sender {
 public:
  event_sender(call& client, http::event_stream& events, cogen::stream_group& streams, event_writer& writer)
      : client_(client), events_(events), writer_(writer), begun_(streams.size()) {}

  net::awaitable<void> send(const cogen::stream_event& next) {
    if (next.progress) co_await send_cached(next);
    co_await server::send(events_, co_await off_loop(client_, event_bytes(next, writer_), [&] {
                            return next.progress ? writer_.on_progress(next) : writer_.on_event(next);
                          }));
  }

 private:
  /// Clients are told what was cached, also where a step has read more by the time that they can be.
  net::awaitable<void> send_cached(const cogen::stream_event& next) {
    const bool is_first = !std::exchange(begun_[next.index], char{1});
    if (!is_first || next.progress->processed == next.progress->cached) co_return;
    auto cached = *next.progress;
    cached.processed = cached.cached;
    cached.time = {};
    co_await server::send(events_, writer_.on_progress({.index = next.index, .progress = cached}));
  }

  call& client_;
  http::event_stream& events_;
  event_writer& writer_;
  std::vector<char> begun_;
};

net::awaitable<void> send_all(call& client, http::event_stream& events, cogen::stream_group& streams,
                              event_writer& writer, bool progress) {
  timed_reader reader(client, streams);
  event_sender sender(client, events, streams, writer);
  while (true) {
    const bool came = co_await reader.wait();
    if (came && !reader.event) break;
    if (came && reader.event->progress && !progress) continue;
    if (client.client.status() == 0) tell_loosened(client, streams);
    if (came)
      co_await sender.send(*reader.event);
    else
      co_await events.ping();
    reader.restart();
  }
  co_await send(events, co_await off_loop(client, writer.repeated_bytes(false), [&] { return writer.last(); }));
}

/// Throws api::error for more answers than slots and queue hold.
std::vector<cogen::token_stream> begin_several(const served_model& model, api::generation wanted) try {
  auto group = model.engine->generate_n(std::move(wanted.request), wanted.n);
  return {std::move_iterator(group.begin()), std::move_iterator(group.end())};
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

std::vector<cogen::token_stream> begin(const served_model& model, api::generation wanted) {
  std::vector<cogen::token_stream> streams;
  if (model.drafts) wanted.request.speculative = model.drafts->for_request(wanted.request, wanted.max_draft_tokens);
  if (wanted.n == 1)
    streams.push_back(model.engine->generate(std::move(wanted.request)));
  else
    streams = begin_several(model, std::move(wanted));
  if (const auto why = streams.front().error()) throw refusal(why, streams.front(), model);
  return streams;
}

std::size_t copied_bytes(const cogen::request& request, std::size_t times) {
  constexpr std::size_t bytes_of_bias = 64;
  return times * bytes_of_bias * request.sampling.logit_bias.size();
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

net::awaitable<std::vector<cogen::completion>> collect(call& client, cogen::stream_group& streams) {
  std::vector<cogen::completion> completions(streams.size());
  std::size_t logprobs = 0;
  while (auto next = co_await streams.async_next(net::use_awaitable)) {
    for (const auto& token : next->piece.tokens) logprobs += token.top.size();
    if (logprobs > api::max_logprobs_of_answer)
      throw api::invalid("", fmt::format("the answer has more than {} log-probabilities beside those of its tokens; "
                                         "ask for fewer, or for a stream",
                                         api::max_logprobs_of_answer));
    append(completions[next->index], std::move(next->piece));
  }
  for (std::size_t i = 0; i < completions.size(); ++i) {
    completions[i].reason = *streams[i].finish();
    completions[i].usage = streams[i].usage();
  }
  tell_loosened(client, streams);
  co_return completions;
}

net::awaitable<void> send_events(call& client, cogen::stream_group& streams, event_writer& writer, bool progress) {
  http::event_stream events(client.client);
  std::exception_ptr failed;
  try {
    co_await send_all(client, events, streams, writer, progress);
  } catch (...) {
    failed = std::current_exception();
  }
  if (failed && client.client.status() == 0) std::rethrow_exception(failed);
  if (failed) co_await send(events, writer.failed(api::error_of(failed)));
  co_await events.end();
}

}  // namespace server
