#include "answers/response/families.hpp"
#include "reading.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace cogen;
using namespace cogen::response;

namespace {

const response_syntax& qwen() {
  static const auto syntax = syntax_of_template("<think></think><tool_call>");
  return syntax;
}

const response_syntax& coder() {
  static const auto syntax = syntax_of_template("<tool_call><function=<parameter=");
  return syntax;
}

response_parts only_text(std::string text) { return {std::move(text), "", {}}; }

response_parts only_call(tool_call call) { return {"", "", {std::move(call)}}; }

tool_call malformed(std::string name, std::string arguments) {
  return {"", std::move(name), std::move(arguments), tool_call_status::malformed};
}

tool_call unfinished(std::string name, std::string arguments) {
  return {"", std::move(name), std::move(arguments), tool_call_status::unfinished};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(readers)

BOOST_AUTO_TEST_CASE(a_text_without_delimiters_stays_as_it_is) {
  for (const auto* text : {"", " a \n", "<", "a <think", "</think>", "\n\n<tool_cal>\n", "\xC3\xA9 <\xC3", "}{"})
    BOOST_TEST(read(qwen(), text) == only_text(text));
}

BOOST_AUTO_TEST_CASE(reasoning_is_apart_from_the_text) {
  BOOST_TEST(read(qwen(), "<think>\n a\nb \n</think>\n\nc ") == (response_parts{"c ", "a\nb", {}}));
  BOOST_TEST(read(qwen(), "a </think> b", {.in_reasoning = true}) == (response_parts{"b", "a", {}}));
  BOOST_TEST(read(qwen(), "a <think> </think> b") == (response_parts{"ab", "", {}}));
  BOOST_TEST(read(qwen(), "a \n</thin", {.in_reasoning = true}) == (response_parts{"", "a \n</thin", {}}));
  BOOST_TEST(read(qwen(), "<tool_call>{}</think>b", {.in_reasoning = true}) ==
             (response_parts{"b", "<tool_call>{}", {}}));
}

BOOST_AUTO_TEST_CASE(calls_are_text_where_they_are_not_read) {
  const std::string text = "<tool_call>{\"name\": \"f\"}</tool_call>";
  BOOST_TEST(read(qwen(), text, {.reads_calls = false}) == only_text(text));
}

BOOST_AUTO_TEST_CASE(members_of_a_call_come_in_any_order) {
  const auto expected = only_call(called("f", R"({"a": [1, "}"]})", "7"));
  for (const auto* text : {R"({"name": "f", "arguments": {"a": [1, "}"]}, "id": "7"})",
                           R"( { "id":7,"type":{"x":[]},"arguments" :{"a": [1, "}"]} ,"name": "f"} )",
                           R"({"id": "7", "name": "\u0066", "parameters": "{\"a\": [1, \"}\"]}"})",
                           R"([{"id": "7", "name": "f", "arguments": {"a": [1, "}"]}}])"})
    BOOST_TEST(read(qwen(), "<tool_call>" + std::string(text) + "</tool_call>") == expected);
}

BOOST_AUTO_TEST_CASE(a_call_without_arguments_has_none) {
  for (const auto* text :
       {R"({"name": "f"})", R"({"name": "f", "arguments": null})", R"({"name": "f", "arguments": {}})"})
    BOOST_TEST(read(qwen(), "<tool_call>" + std::string(text) + "</tool_call>") == only_call(called("f", "{}")));
}

BOOST_AUTO_TEST_CASE(the_first_of_calls_that_are_not_parallel_ends_the_response) {
  const reader::options single{.parallel_calls = false};
  const auto call = R"({"name": "f", "arguments": {"a": 1}})";
  const auto only = response_parts{"a", "", {called("f", R"({"a": 1})")}};
  const auto tagged = fmt::format("<tool_call>{}</tool_call>", call);
  BOOST_TEST(read(qwen(), "a" + tagged + " and " + tagged + "b", single) == only);
  BOOST_TEST(read(qwen(), fmt::format("a<tool_call>[{}, {}]</tool_call> b", call, call), single) == only);
  const auto mistral = syntax_of_template("[CALL_ID][ARGS]");
  BOOST_TEST(read(mistral, "a[TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}", single) == only);
  BOOST_TEST(read(mistral, "a[TOOL_CALLS]f[ARGS]{\"a\": 1}b", single) == only);
  const auto kimi = syntax_of_template("<|tool_call_argument_begin|>");
  const auto section = [](int i) {
    return fmt::format("<|tool_call_begin|>functions.f:{}<|tool_call_argument_begin|>{{}}<|tool_call_end|>", i);
  };
  BOOST_TEST(read(kimi, "<|tool_calls_section_begin|>" + section(3) + section(4), single) ==
             only_call(called("f", "{}", "functions.f:3")));
  BOOST_TEST(read(coder(), "<tool_call><function=f></function></tool_call><tool_call>", single) ==
             only_call(called("f", "{}")));
  BOOST_TEST(read(qwen(), "a<tool_call>" + std::string(call), single) ==
             (response_parts{"a", "", {called("f", R"({"a": 1})")}}));
  BOOST_TEST(read(qwen(), "no call", single) == only_text("no call"));
}

BOOST_AUTO_TEST_CASE(a_list_holds_several_calls) {
  BOOST_TEST(read(qwen(), R"(<tool_call>[{"name": "f"}, {"name": "g", "arguments": {"b":2}}]</tool_call> and)") ==
             (response_parts{"and", "", {called("f", "{}"), called("g", R"({"b":2})")}}));
  BOOST_TEST(read(qwen(), "a<tool_call>[]</tool_call>b") == only_text("ab"));
}

BOOST_AUTO_TEST_CASE(a_delimiter_in_an_argument_is_a_part_of_it) {
  const std::string arguments = R"({"a": "</tool_call><think>"})";
  BOOST_TEST(read(qwen(), R"(<tool_call>{"name": "f", "arguments": )" + arguments + "}</tool_call>") ==
             only_call(called("f", arguments)));
}

BOOST_AUTO_TEST_CASE(malformed_calls_are_reported_with_their_text) {
  const auto in_tags = [](const std::string& text) { return "<tool_call>" + text + "</tool_call>"; };
  BOOST_TEST(read(qwen(), in_tags("no JSON")) == only_call(malformed("", "no JSON")));
  BOOST_TEST(read(qwen(), in_tags("")) == only_call(malformed("", "")));
  BOOST_TEST(read(qwen(), in_tags(R"({"name": "f", "arguments": {"a" 1}})")) ==
             only_call(malformed("f", R"({"a" 1}})")));
  BOOST_TEST(read(qwen(), in_tags(R"({"name": "f", "arguments": {"a": 1})")) ==
             only_call(malformed("f", R"({"a": 1})")));
  BOOST_TEST(read(qwen(), in_tags(R"({"name": "f", "arguments": {}}})")) == only_call(malformed("f", "{}}")));
  BOOST_TEST(read(qwen(), in_tags(R"({"arguments": {}})")) == only_call(malformed("", "{}}")));
  BOOST_TEST(read(qwen(), in_tags(R"({"name": 2|})")) == only_call(malformed("2", "|}")));
  BOOST_TEST(read(qwen(), in_tags(R"({"name": "f", "arguments": [1]})")).tool_calls.at(0).status ==
             tool_call_status::malformed);
  BOOST_TEST(read(qwen(), in_tags(R"({"name": "f", "name": "g"})")).tool_calls.at(0).status ==
             tool_call_status::malformed);
}

BOOST_AUTO_TEST_CASE(the_text_goes_on_after_a_malformed_call) {
  BOOST_TEST(read(qwen(), "<tool_call>x</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call>\nend") ==
             (response_parts{"end", "", {malformed("", "x"), called("g", "{}")}}));
}

BOOST_AUTO_TEST_CASE(calls_that_the_response_ends_in_are_unfinished) {
  BOOST_TEST(read(qwen(), "a<tool_call>") == (response_parts{"a", "", {unfinished("", "")}}));
  BOOST_TEST(read(qwen(), R"(<tool_call>{"name": "f", "arguments": {"a": "b)") ==
             only_call(unfinished("f", R"({"a": "b)")));
  BOOST_TEST(read(qwen(), R"(<tool_call>{"name": "f", "arguments": {}}</tool_)") == only_call(called("f", "{}")));
  BOOST_TEST(read(coder(), "<tool_call><function=f><parameter=a>x") == only_call(unfinished("f", R"({"a": "x)")));
}

BOOST_AUTO_TEST_CASE(nesting_has_a_limit) {
  const std::string deep(1000, '[');
  BOOST_TEST(read(qwen(), "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": " + deep).tool_calls.at(0).status ==
             tool_call_status::malformed);
}

BOOST_AUTO_TEST_CASE(parameters_become_an_object) {
  const parameter_types types(boost::json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "properties": {"n": {"type": "integer"}, "l": {"type": "array"}, "s": {"type": "string"}}}}}])")
                                  .as_array());
  BOOST_TEST(read(coder(),
                  "hm\n<tool_call>\n<function=f>\n<parameter=n>\n3\n</parameter>\n<parameter=s>\n  a\n\n\"</p>\n"
                  "</parameter>\n<parameter=l>[1, 2]</parameter>\n<parameter=x>1</parameter></function>\n</tool_call>",
                  {}, types) ==
             (response_parts{"hm", "", {called("f", R"({"n": 3, "s": "  a\n\n\"</p>", "l": [1, 2], "x": "1"})")}}));
  BOOST_TEST(read(coder(), "<tool_call><function=f></function></tool_call>", {}, types) ==
             only_call(called("f", "{}")));
  BOOST_TEST(read(coder(), "<tool_call><function=f>oh</function></tool_call>", {}, types) ==
             only_call(malformed("f", "oh")));
}

BOOST_AUTO_TEST_CASE(types_of_parameters_may_stand_elsewhere_in_the_schema) {
  const parameter_types types(boost::json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "$defs": {"o": {"type": "object"}, "s": {"enum": ["a"]}, "c": {"anyOf": [{"$ref": "#/$defs/c"},
      {"$ref": "#/$defs/c"}]}},
    "properties": {"o": {"$ref": "#/$defs/o"}, "a": {"allOf": [{"$ref": "#/$defs/o"}], "description": "x"},
      "n": {"anyOf": [{"$ref": "#/$defs/o"}, {"type": "null"}]}, "s": {"$ref": "#/$defs/s"}, "i": {"const": 5},
      "e": {"enum": ["5", null]}, "c": {"$ref": "#/$defs/c"}, "x": {"$ref": "http://other"}}}}}])")
                                  .as_array());
  for (const auto* name : {"o", "a", "n"}) BOOST_TEST(types.json_of("f", name, "{}") == "{}", name);
  for (const auto* name : {"o", "a", "n", "i"}) BOOST_TEST(!types.may_be_text("f", name), name);
  BOOST_TEST(types.json_of("f", "n", "null") == "null");
  BOOST_TEST(types.json_of("f", "i", "5") == "5");
  BOOST_TEST(types.is_text("f", "s"));
  BOOST_TEST(types.json_of("f", "e", "5") == R"("5")");
  BOOST_TEST(types.json_of("f", "e", "null") == "null");
  for (const auto* name : {"c", "x"}) BOOST_TEST(types.is_text("f", name), name);
}

BOOST_AUTO_TEST_CASE(arguments_come_as_they_are_written) {
  const parameter_types none;
  reader input(qwen(), none, {});
  BOOST_TEST(input.push(R"(<tool_call>{"name": "f", "arguments": {"a": "bc)").tool_calls.at(0).arguments ==
             R"({"a": "bc)");
  BOOST_TEST(input.push("de").tool_calls.at(0).arguments == "de");
  BOOST_TEST(!input.push("\"}}").tool_calls.at(0).status.has_value());
  BOOST_TEST(input.push("</tool_call>").tool_calls.at(0).status.value() == tool_call_status::complete);
}

BOOST_AUTO_TEST_CASE(text_is_held_back_only_where_it_may_be_a_delimiter) {
  const parameter_types none;
  reader input(qwen(), none, {});
  BOOST_TEST(input.push("a b").text == "a b");
  BOOST_TEST(input.push(" <think").text.empty());
  BOOST_TEST(input.push("s").text == " <thinks");
}

BOOST_AUTO_TEST_SUITE_END()
