#include "routes/openai_events.hpp"

#include <boost/json/serialize.hpp>

#include <utility>

namespace server {

namespace json = boost::json;

std::vector<event> openai_events::last() {
  std::vector<event> result;
  if (include_usage_) {
    auto chunk = head_.with({});
    chunk["usage"] = client_.usage.json();
    chunk["timings"] = api::timings_of(stream(0).usage(), stream(0).request_metrics());
    result.push_back({json::serialize(chunk)});
  }
  result.push_back({"[DONE]"});
  return result;
}

std::vector<event> openai_events::failed(const api::error& why) {
  return {{api::body_of(why, api::dialect::openai)}, {"[DONE]"}};
}

json::object openai_events::chunk_of(json::object choice) const {
  auto chunk = head_.with({std::move(choice)});
  if (include_usage_) chunk["usage"] = nullptr;
  return chunk;
}

void openai_events::count(std::size_t index, bool first_of_prompt) {
  const auto usage = stream(index).usage();
  first_of_prompt ? client_.usage.add_prompt(usage) : client_.usage.add(usage);
}

}  // namespace server
