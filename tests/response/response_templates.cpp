// Responses, compared with what Transformers' parse_response makes of them.
#include "../test_data.hpp"
#include "answers/response/families.hpp"
#include "answers/response/response_template.hpp"
#include "reading.hpp"
#include "text/small_tokenizer.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

using namespace cogen;
using namespace cogen::response;

namespace {

const boost::json::object& references() {
  static const auto read = [] {
    std::ifstream file(test::test_data() / "response/responses.json", std::ios::binary);
    return boost::json::parse(std::move(std::ostringstream() << file.rdbuf()).str()).as_object();
  }();
  return read;
}

/// A response as a message of Transformers.
boost::json::object message_of(const response_parts& parts, const std::string& reasoning) {
  boost::json::object message;
  if (!parts.text.empty()) message["content"] = parts.text;
  if (!parts.reasoning.empty()) message[reasoning] = parts.reasoning;
  boost::json::array calls;
  for (const auto& each : parts.tool_calls) {
    BOOST_TEST((each.status == tool_call_status::complete));
    calls.push_back(
        {{"type", "function"}, {"function", {{"name", each.name}, {"arguments", boost::json::parse(each.arguments)}}}});
  }
  if (!calls.empty()) message["tool_calls"] = calls;
  return message;
}

void check(const response_syntax& syntax, const boost::json::object& reference) {
  const parameter_types types(references().at("tools").as_array());
  const std::string_view prefix = reference.at("prefix").as_string();
  const bool in_reasoning = prefix.rfind("<think>") + 1 > prefix.rfind("</think>") + 1;
  auto expected = reference.at("message").as_object();
  expected.erase("role");
  const std::string text(reference.at("text").as_string());
  const auto read_as = message_of(read(syntax, text, {.in_reasoning = in_reasoning}, types),
                                  expected.contains("thinking") ? "thinking" : "reasoning_content");
  BOOST_TEST(read_as == expected, text << " is read as " << boost::json::serialize(read_as));
}

std::string refusal_of_template(const std::string& json) {
  try {
    syntax_of_response_template(boost::json::parse(json));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(response_templates)

BOOST_AUTO_TEST_CASE(responses_are_read_as_in_transformers) {
  const auto& templates = references().at("templates").as_object();
  for (const auto& each : references().at("responses").as_array()) {
    const auto& reference = each.as_object();
    check(syntax_of_response_template(templates.at(std::string_view(reference.at("template").as_string()))), reference);
  }
}

BOOST_AUTO_TEST_CASE(families_read_what_their_response_templates_read) {
  for (const auto& each : references().at("responses").as_array()) {
    auto reference = each.as_object();
    const std::string name(reference.at("template").as_string());
    if (!name.starts_with("qwen")) continue;
    std::string text(reference.at("text").as_string());  // end tokens are never read
    for (const std::string end : {"<|im_end|>", "\n<|endoftext|>"})
      if (const auto position = text.find(end); position != std::string::npos) text.erase(position, end.size());
    reference["text"] = text;
    const std::string calls = name == "qwen2" ? "<tool_call>" : "<tool_call><function=<parameter=";
    check(syntax_of_template("</think>" + calls), reference);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_supported_is_refused_by_name) {
  const auto in_fields = [](const std::string& fields) { return R"({"start_anchor": "a", "fields": )" + fields + "}"; };
  BOOST_TEST(refusal_of_template("[]").find("response_template") != std::string::npos);
  BOOST_TEST(refusal_of_template(R"({"version": 2, "fields": {}})") == "response_template.version is 2, but must be 1");
  BOOST_TEST(refusal_of_template(R"({"x": 2, "fields": {}})").find("'x'") != std::string::npos);
  BOOST_TEST(refusal_of_template(in_fields(R"({"citations": {}})")).find("'citations'") != std::string::npos);
  BOOST_TEST(refusal_of_template(in_fields(R"({"thinking": {"open": "<a>"}})")).find("thinking") != std::string::npos);
  BOOST_TEST(refusal_of_template(in_fields(R"({"thinking": {"open": " ", "close": "b"}})")).find("white space") !=
             std::string::npos);
  BOOST_TEST(refusal_of_template(in_fields(R"({"tool_calls": {"open": "a", "content": "json"}})")).find("transform") !=
             std::string::npos);
  BOOST_TEST(refusal_of_template(in_fields(R"({"tool_calls": {"open": "a", "content": "kv-lines", "transform":
    {"function": "{content}"}}})"))
                 .find("xml-inline") != std::string::npos);
  BOOST_TEST(
      refusal_of_template(in_fields(R"({"content": {"open": "a", "open_pattern": "b"}})")).find("open_pattern") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(ids_of_calls_are_those_of_the_chat_template) {
  const auto syntax_with = [](const std::string& response_template) {
    auto spec = small_spec({});
    spec.chat_template = "[TOOL_CALLS]";
    spec.response_template = response_template;
    return syntax_of(text::tokenizer(std::move(spec)));
  };
  BOOST_TEST(syntax_with("").calls->id.length == 9u);
  const auto& own = references().at("templates").as_object().at("qwen2");
  BOOST_TEST(syntax_of_response_template(own).calls->id.length == 0u);
  BOOST_TEST(syntax_with(boost::json::serialize(own)).calls->id.length == 9u);
  BOOST_TEST(!syntax_with(R"({"start_anchor": "a", "fields": {}})").calls);
  BOOST_CHECK_THROW(syntax_with("[]"), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
