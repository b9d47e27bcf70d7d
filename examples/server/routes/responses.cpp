// OpenAI's Responses API.
#include "api/blocks.hpp"
#include "api/json_text.hpp"
#include "api/response_fields.hpp"
#include "routes/generate.hpp"
#include "routes/routes.hpp"

#include <boost/json/value.hpp>

#include <utility>

namespace server {
namespace {

namespace json = boost::json;

json::object usage_of(const cogen::usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"output_tokens", usage.generated_tokens},
          {"output_tokens_details", {{"reasoning_tokens", 0}}},
          {"total_tokens", usage.prompt_tokens + usage.generated_tokens}};
}

json::object text_part(const std::string& text) {
  return {{"type", "output_text"}, {"text", text}, {"annotations", json::array()}, {"logprobs", json::array()}};
}

json::object reasoning_part(const std::string& text) { return {{"type", "reasoning_text"}, {"text", text}}; }

/// The name of a block in the answer with this id.
std::string item_id(const api::block& block, const std::string& answer) {
  const char* const prefix = block.type == api::block::kind::reasoning ? "rs_"
                             : block.type == api::block::kind::text    ? "msg_"
                                                                       : "fc_";
  return prefix + answer.substr(answer.find('_') + 1) + "_" + std::to_string(block.index);
}

json::object item_of(const api::block& block, const std::string& answer, bool whole) {
  json::object item{{"id", item_id(block, answer)}, {"status", whole ? "completed" : "in_progress"}};
  switch (block.type) {
    case api::block::kind::reasoning:
      item["type"] = "reasoning";
      item["summary"] = json::array();
      item["content"] = whole ? json::array{reasoning_part(block.text)} : json::array();
      return item;
    case api::block::kind::call:
      item["type"] = "function_call";
      item["call_id"] = block.id;
      item["name"] = block.name;
      item["arguments"] = whole ? block.text : std::string();
      return item;
    default:
      item["type"] = "message";
      item["role"] = "assistant";
      item["content"] = whole ? json::array{text_part(block.text)} : json::array();
      return item;
  }
}

}  // namespace

/// What an answer says of itself, before and after it is complete.
struct response_head {
  std::string id, model = {};
  std::int64_t created = 0;
  json::object asked;           ///< fields of the request that the answer repeats
  std::size_t asked_bytes = 0;  ///< as JSON

  json::object object(std::string_view status) const {
    json::object result = asked;
    result["id"] = id;
    result["object"] = "response";
    result["created_at"] = created;
    result["model"] = model;
    result["status"] = status;
    result["error"] = nullptr;
    result["incomplete_details"] = nullptr;
    result["output"] = json::array();
    result["usage"] = nullptr;
    return result;
  }

  json::object ended(const std::vector<api::block>& blocks, cogen::finish_reason reason,
                     const cogen::usage& usage) const {
    const bool cut = reason == cogen::finish_reason::length || reason == cogen::finish_reason::deadline_exceeded;
    auto result = object(cut ? "incomplete" : "completed");
    if (cut) result["incomplete_details"] = {{"reason", "max_output_tokens"}};
    for (const auto& block : blocks) result["output"].as_array().push_back(item_of(block, id, true));
    result["usage"] = usage_of(usage);
    return result;
  }
};

struct response_request {
  api::generation wanted;
  response_head head;
};

namespace {

response_head head_of(const api::field_reader& body) {
  response_head head{.id = api::new_id("resp_"), .created = api::unix_time(), .asked = {}};
  head.asked = {{"instructions", nullptr},
                {"max_output_tokens", nullptr},
                {"temperature", 1.0},
                {"top_p", 1.0},
                {"metadata", json::object()},
                {"tools", json::array()},
                {"tool_choice", "auto"},
                {"parallel_tool_calls", true},
                {"previous_response_id", nullptr}};
  for (auto& field : head.asked)
    if (const auto* given = body.find(std::string_view(field.key().data(), field.key().size()))) field.value() = *given;
  head.asked_bytes = api::json_text(head.asked).size();
  return head;
}

class response_events final : public event_writer {
 public:
  response_events(call& client, const cogen::token_stream& stream, const response_head& head, bool timings)
      : call_(client), stream_(stream), head_(head), timings_(timings) {}

  std::size_t repeated_bytes(bool of_piece) const override { return of_piece && begun_ ? 0 : head_.asked_bytes; }

  std::vector<event> on_progress(const cogen::stream_event& update) override {
    json::object fields{{"response", head_.object("in_progress")},
                        {"prompt_progress", api::progress_of(*update.progress)}};
    if (timings_) fields["timings"] = api::timings_of(*update.progress);
    begin();
    add("response.in_progress", std::move(fields));
    return std::exchange(events_, {});
  }

  std::vector<event> on_event(const cogen::stream_event& update) override {
    if (begin()) add("response.in_progress", {{"response", head_.object("in_progress")}});
    for (const auto& change : update.finish ? blocks_.end() : blocks_.split(update.piece)) add(change);
    return std::exchange(events_, {});
  }

  std::vector<event> last() override {
    const auto usage = stream_.usage();
    call_.usage.add_prompt(usage);
    const auto ended = head_.ended(blocks_.blocks(), *stream_.finish(), usage);
    add("response." + std::string(ended.at("status").as_string()),
        {{"response", ended}, {"timings", api::timings_of(stream_)}});
    return std::exchange(events_, {});
  }

  std::vector<event> failed(const api::error& why) override {
    add("error", {{"code", why.code()}, {"message", why.what()}, {"param", nullptr}});
    return std::exchange(events_, {});
  }

 private:
  /// True when it did: once.
  bool begin() {
    if (std::exchange(begun_, true)) return false;
    add("response.created", {{"response", head_.object("in_progress")}});
    return true;
  }

  void add(const std::string& type, json::object fields) {
    fields["type"] = type;
    fields["sequence_number"] = number_++;
    events_.push_back({api::json_text(fields), type});
  }

  /// Every event of a block says which it is.
  json::object with(const api::block& block, json::object fields) const {
    fields["output_index"] = block.index;
    fields["item_id"] = item_id(block, head_.id);
    if (block.type != api::block::kind::call) fields["content_index"] = 0;
    return fields;
  }

  static std::string prefix_of(const api::block& block) {
    switch (block.type) {
      case api::block::kind::reasoning:
        return "response.reasoning_text";
      case api::block::kind::call:
        return "response.function_call_arguments";
      default:
        return "response.output_text";
    }
  }

  static json::object part_of(const api::block& block) {
    return block.type == api::block::kind::reasoning ? reasoning_part(block.text) : text_part(block.text);
  }

  void add(const api::block_change& change) {
    const auto& block = change.block;
    const bool has_parts = block.type != api::block::kind::call;
    switch (change.type) {
      case api::block_change::kind::begin:
        add("response.output_item.added", {{"output_index", block.index}, {"item", item_of(block, head_.id, false)}});
        if (has_parts) add("response.content_part.added", with(block, {{"part", part_of(block)}}));
        return;
      case api::block_change::kind::add:
        add_delta(block, change.added);
        return;
      case api::block_change::kind::end:
        add(prefix_of(block) + ".done", with(block, {{has_parts ? "text" : "arguments", block.text}}));
        if (has_parts) add("response.content_part.done", with(block, {{"part", part_of(block)}}));
        add("response.output_item.done", {{"output_index", block.index}, {"item", item_of(block, head_.id, true)}});
    }
  }

  void add_delta(const api::block& block, const std::string& added) {
    auto fields = with(block, {{"delta", added}});
    if (timings_) fields["timings"] = api::timings_of(stream_);
    add(prefix_of(block) + ".delta", std::move(fields));
  }

  call& call_;
  const cogen::token_stream& stream_;
  const response_head& head_;
  bool timings_;
  api::block_splitter blocks_;
  std::vector<event> events_;
  int number_ = 0;
  bool begun_ = false;
};

net::awaitable<void> send_response(call& client, cogen::stream_group& streams, const response_head& head) {
  const auto answers = co_await collect(client, streams);
  const auto& answer = answers.front();
  client.usage.add_prompt(answer.usage);
  auto text = co_await off_loop(client, head.asked_bytes, [&] {
    return api::json_text(head.ended(api::blocks_of(answer), answer.reason, answer.usage));
  });
  co_await client.client.respond({.body = std::move(text)});
}

response_request read_response(const call& client, const api::field_reader& body, const served_model& model) {
  return {api::read_response_request(body, api::sender_of(client.request(), client.tenant),
                                     api::route_defaults().with(model.generation), &model.tokenizer()),
          head_of(body)};
}

}  // namespace

net::awaitable<void> responses(call& client) {
  auto [wanted, head] = co_await read_fields(client, read_response);
  auto& model = *client.model;
  head.model = client.model_name;
  const bool stream = wanted.stream;
  const auto extras = wanted.extras;
  auto begun = co_await on_worker(client, 0, [&] { return begin(model, std::move(wanted)); });
  cogen::stream_group streams(std::move(begun));
  const running_answer shown(model, head.id, streams, client.tenant);
  if (stream) {
    response_events writer(client, streams[0], head, extras.timings);
    co_await send_events(client, streams, writer, extras.progress);
  } else {
    co_await send_response(client, streams, head);
  }
}

}  // namespace server
