// Anthropic's Messages API.
#include "api/blocks.hpp"
#include "api/json_text.hpp"
#include "api/message_fields.hpp"
#include "routes/generate.hpp"
#include "routes/routes.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <utility>

namespace server {
namespace {

namespace json = boost::json;

constexpr api::route_defaults message_defaults{.min_max_tokens = 0};  // which only fills the prefix cache

/// Why an answer ended, in Anthropic's words, and the text that did it.
json::object ending_of(cogen::finish_reason reason, bool has_calls, const std::vector<std::string>& stop) {
  json::object ending{{"stop_reason", "end_turn"}, {"stop_sequence", nullptr}};
  if (reason == cogen::finish_reason::length || reason == cogen::finish_reason::deadline_exceeded)
    ending["stop_reason"] = "max_tokens";
  else if (reason == cogen::finish_reason::stop_string)
    ending = {{"stop_reason", "stop_sequence"},
              {"stop_sequence", stop.size() == 1 ? json::value(stop.front()) : nullptr}};
  else if (has_calls)
    ending["stop_reason"] = "tool_use";
  return ending;
}

json::object message_usage(const cogen::usage& usage) {
  return {{"input_tokens", usage.prompt_tokens - usage.cached_tokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", usage.cached_tokens},
          {"output_tokens", usage.generated_tokens}};
}

json::value input_of(const std::string& arguments) {
  json::error_code error;
  auto value = json::parse(arguments, error);
  return error ? json::value(json::object()) : value;
}

json::object block_object(const api::block& block, bool whole) {
  switch (block.type) {
    case api::block::kind::reasoning:
      return {{"type", "thinking"}, {"thinking", whole ? block.text : std::string()}, {"signature", ""}};
    case api::block::kind::call:
      return {{"type", "tool_use"},
              {"id", block.id},
              {"name", block.name},
              {"input", whole ? input_of(block.text) : json::value(json::object())}};
    default:
      return {{"type", "text"}, {"text", whole ? block.text : std::string()}};
  }
}

json::object delta_of(const api::block_change& change) {
  switch (change.block.type) {
    case api::block::kind::reasoning:
      return {{"type", "thinking_delta"}, {"thinking", change.added}};
    case api::block::kind::call:
      return {{"type", "input_json_delta"}, {"partial_json", change.added}};
    default:
      return {{"type", "text_delta"}, {"text", change.added}};
  }
}

json::object message_object(const std::string& id, const std::string& model, json::array content,
                            const json::object& ending, const cogen::usage& usage) {
  return {{"id", id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", model},
          {"content", std::move(content)},
          {"stop_reason", ending.at("stop_reason")},
          {"stop_sequence", ending.at("stop_sequence")},
          {"usage", message_usage(usage)}};
}

class message_events final : public event_writer {
 public:
  message_events(call& client, const cogen::token_stream& stream, std::string id, std::string model,
                 std::vector<std::string> stop)
      : call_(client), stream_(stream), id_(std::move(id)), model_(std::move(model)), stop_(std::move(stop)) {}

  std::vector<event> on_event(const cogen::stream_event& update) override {
    std::vector<event> events;
    if (!std::exchange(begun_, true)) {
      auto usage = stream_.usage();
      usage.generated_tokens = 0;
      const json::object open{{"stop_reason", nullptr}, {"stop_sequence", nullptr}};
      add(events, {{"type", "message_start"}, {"message", message_object(id_, model_, {}, open, usage)}});
    }
    for (const auto& change : update.finish ? blocks_.end() : blocks_.split(update.piece))
      add(events, object_of(change));
    return events;
  }

  std::vector<event> last() override {
    std::vector<event> events;
    const auto usage = stream_.usage();
    call_.usage.add_prompt(usage);
    bool has_calls = false;
    for (const auto& block : blocks_.blocks()) has_calls = has_calls || block.type == api::block::kind::call;
    add(events, {{"type", "message_delta"},
                 {"delta", ending_of(*stream_.finish(), has_calls, stop_)},
                 {"usage", message_usage(usage)}});
    add(events, {{"type", "message_stop"}});
    return events;
  }

  std::vector<event> failed(const api::error& why) override {
    return {{api::body_of(why, api::dialect::anthropic), "error"}};
  }

 private:
  static void add(std::vector<event>& events, const json::object& data) {
    events.push_back({api::json_text(data), std::string(data.at("type").as_string())});
  }

  static json::object object_of(const api::block_change& change) {
    const auto index = change.block.index;
    switch (change.type) {
      case api::block_change::kind::begin:
        return {
            {"type", "content_block_start"}, {"index", index}, {"content_block", block_object(change.block, false)}};
      case api::block_change::kind::add:
        return {{"type", "content_block_delta"}, {"index", index}, {"delta", delta_of(change)}};
      default:
        return {{"type", "content_block_stop"}, {"index", index}};
    }
  }

  call& call_;
  const cogen::token_stream& stream_;
  std::string id_, model_;
  std::vector<std::string> stop_;
  api::block_splitter blocks_;
  bool begun_ = false;
};

net::awaitable<void> send_message(call& client, cogen::stream_group& streams, const std::string& id,
                                  const std::string& model, const std::vector<std::string>& stop) {
  const auto answers = co_await collect(client, streams);
  const auto& answer = answers.front();
  client.usage.add_prompt(answer.usage);
  json::array content;
  for (const auto& block : api::blocks_of(answer)) content.push_back(block_object(block, true));
  const auto ending = ending_of(answer.reason, !answer.tool_calls.empty(), stop);
  co_await client.client.respond(
      {.body = api::json_text(message_object(id, model, std::move(content), ending, answer.usage))});
}

api::generation read_message(const call& client, const api::field_reader& body, const served_model& model) {
  return api::read_message_request(body, api::sender_of(client.request(), client.tenant),
                                   message_defaults.with(model.generation), &model.tokenizer(), true);
}

/// Neither a format nor calls are compiled to count.
cogen::request_estimate count(const call&, const api::field_reader& body, const served_model& model) {
  auto request = api::read_message_request(body, {}, message_defaults, &model.tokenizer(), false).request;
  request.response_format.reset();
  request.tool_choice = {.type = cogen::tool_choice::kind::none};
  return model.engine->estimate(request);
}

}  // namespace

net::awaitable<void> messages(call& client) {
  auto wanted = co_await read_fields(client, read_message);
  auto& model = *client.model;
  const auto id = api::new_id("msg_");
  const bool stream = wanted.stream;
  const auto stop = wanted.request.stop;
  auto begun = co_await on_worker(client, 0, [&] { return begin(model, std::move(wanted)); });
  cogen::stream_group streams(std::move(begun));
  const running_answer shown(model, id, streams, client.tenant);
  if (stream) {
    message_events writer(client, streams[0], id, client.model_name, stop);
    co_await send_events(client, streams, writer, false);
  } else {
    co_await send_message(client, streams, id, client.model_name, stop);
  }
}

net::awaitable<void> count_tokens(call& client) {
  const auto found = co_await read_fields(client, count);
  if (found.why_not && found.prompt_tokens == 0) throw api::error_of(found.why_not);
  co_await client.client.respond({.body = api::json_text(json::object{{"input_tokens", found.prompt_tokens}})});
}

}  // namespace server
