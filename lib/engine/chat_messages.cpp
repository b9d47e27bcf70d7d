#include <cogen/token_stream.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include <utility>

namespace cogen {
namespace {

/// An object, as chat templates read it; what of a call that is not complete has come is a text.
boost::json::value arguments_of(const tool_call& call) {
  boost::system::error_code error;
  auto read = boost::json::parse(call.arguments, error);
  if (error || !read.is_object()) return boost::json::string(call.arguments);
  return read;
}

boost::json::object written(const tool_call& call) {
  return {
      {"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", arguments_of(call)}}}};
}

}  // namespace

text::chat_message assistant(const completion& completion) {
  text::chat_message message{"assistant", completion.text};
  if (!completion.reasoning.empty()) (*message.extra)["reasoning_content"] = completion.reasoning;
  if (completion.tool_calls.empty()) return message;
  boost::json::array calls;
  for (const auto& each : completion.tool_calls) calls.push_back(written(each));
  (*message.extra)["tool_calls"] = std::move(calls);
  return message;
}

text::chat_message tool_result(const tool_call& call, std::string result) {
  return {"tool", std::move(result), boost::json::object{{"name", call.name}, {"tool_call_id", call.id}}};
}

}  // namespace cogen
