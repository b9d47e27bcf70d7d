#include "routes/openai_events.hpp"

#include "api/json_text.hpp"

#include <boost/json/value_to.hpp>

#include <utility>

namespace server {

namespace json = boost::json;

namespace {

/// Whether it has nothing but the role, as the first one of a chat.
bool opens_message(const json::object& choice) {
  const auto* const delta = choice.if_contains("delta");
  return delta && delta->as_object().contains("role");
}

json::value usage_of(const cogen::token_stream& stream) {
  api::usage_sum sum;
  sum.add_prompt(stream.usage());
  return sum.json();
}

}  // namespace

std::vector<event> openai_events::on_progress(const cogen::stream_event& update) {
  auto chunk = chunk_of(progress_choice(update.index));
  chunk["prompt_progress"] = api::progress_of(*update.progress);
  if (extras_.timings) chunk["timings"] = api::timings_of(*update.progress);
  return {{api::json_text(chunk)}};
}

std::vector<event> openai_events::last() {
  std::vector<event> result;
  if (extras_.usage) {
    auto chunk = head_.with({});
    chunk["usage"] = client_.usage.json();
    chunk["timings"] = api::timings_of(stream(0));
    result.push_back({api::json_text(chunk)});
  }
  result.push_back({"[DONE]"});
  return result;
}

std::vector<event> openai_events::failed(const api::error& why) {
  return {{api::body_of(why, api::dialect::openai)}, {"[DONE]"}};
}

json::object openai_events::chunk_of(json::object choice) const {
  const auto index = json::value_to<std::size_t>(choice.at("index"));
  const bool has_timings = extras_.timings && !opens_message(choice);
  auto chunk = head_.with({std::move(choice)});
  if (extras_.usage) chunk["usage"] = extras_.usage_in_each ? usage_of(stream(index)) : json::value();
  if (has_timings) chunk["timings"] = api::timings_of(stream(index));
  return chunk;
}

void openai_events::count(std::size_t index, bool first_of_prompt) {
  const auto usage = stream(index).usage();
  first_of_prompt ? client_.usage.add_prompt(usage) : client_.usage.add(usage);
}

}  // namespace server
