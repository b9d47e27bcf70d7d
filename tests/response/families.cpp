#include "answers/response/families.hpp"

#include "reading.hpp"

#include <boost/test/unit_test.hpp>

using namespace cogen;
using namespace cogen::response;

namespace {

/// A family: what its chat templates hold, and a response as it writes it.
struct family_case {
  const char* name;
  const char* chat_template;
  const char* text;
  response_parts expected;
};

const std::vector<family_case>& cases() {
  static const std::vector<family_case> list = {
      {"gpt-oss",
       "<|start|>assistant<|channel|>analysis functions.",
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f "
       "<|constrain|>json<|message|>{\"a\": 1}<|call|>",
       {"", "Hm.", {called("f", "{\"a\": 1}")}}},
      {"gpt-oss",
       "<|start|>assistant<|channel|>analysis functions.",
       " to=functions.f<|channel|>commentary json<|message|>{}<|call|>",
       {"", "", {called("f", "{}")}}},
      {"gpt-oss",
       "<|start|>assistant<|channel|>analysis functions.",
       "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>",
       {"Yes.", "Hm.", {}}},
      {"DeepSeek R1",
       "</think><｜tool▁sep｜>```json",
       "<think>a</think>b<｜tool▁calls▁begin｜>"
       "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": \"```\"}\n"
       "```<｜tool▁call▁end｜>\n"
       "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜>"
       "<｜tool▁calls▁end｜>",
       {"b", "a", {called("f", "{\"a\": \"```\"}"), called("g", "{}")}}},
      {"DeepSeek V3.1",
       "<｜tool▁sep｜>",
       "b<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}"
       "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
       {"b", "", {called("f", "{}")}}},
      {"Kimi K2",
       "<|tool_call_argument_begin|>",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}"
       "<|tool_call_end|><|tool_calls_section_end|>",
       {"", "", {called("f", "{\"a\": 1}", "functions.f:0")}}},
      {"MiniMax M2",
       "<minimax:tool_call>",
       "<minimax:tool_call>\n<invoke name=\"f\">\n<parameter name=\"a\">b</parameter>\n</invoke>\n</minimax:tool_call>",
       {"", "", {called("f", "{\"a\": \"b\"}")}}},
      {"Seed-OSS",
       "<seed:think><seed:tool_call>",
       "<seed:think>x</seed:think>\n<seed:tool_call>\n<function=f>\n<parameter=a>b</parameter>\n</function>\n"
       "</seed:tool_call>",
       {"", "x", {called("f", "{\"a\": \"b\"}")}}},
      {"GLM 4.5",
       "<arg_key>",
       "\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call><tool_call>g</tool_call>",
       {"", "", {called("f", "{\"a\": \"b\"}"), called("g", "{}")}}},
      {"Mistral Small 3.2",
       "[CALL_ID][ARGS]",
       "[TOOL_CALLS]f[CALL_ID]abcDEF123[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}",
       {"", "", {called("f", "{\"a\": 1}", "abcDEF123"), called("g", "{}")}}},
      {"Mistral Nemo",
       "[TOOL_CALLS]",
       "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {}, \"id\": \"123456789\"}]",
       {"", "", {called("f", "{}", "123456789")}}},
      {"Magistral", "[THINK][ARGS]", "[THINK]a[/THINK]b", {"b", "a", {}}},
      {"Command R7B",
       "<|START_THINKING|><|START_ACTION|>",
       "<|START_THINKING|>a<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"f\", "
       "\"parameters\": {}}\n]<|END_ACTION|>",
       {"", "a", {called("f", "{}", "0")}}},
      {"Command R7B", "<|START_THINKING|><|START_ACTION|>", "<|START_RESPONSE|>Hi.<|END_RESPONSE|>", {"Hi.", "", {}}},
      {"Nemotron Nano 2",
       "<TOOLCALL>",
       "<TOOLCALL>[{\"name\": \"f\", \"arguments\": {}}]</TOOLCALL>",
       {"", "", {called("f", "{}")}}},
      {"Granite 3",
       "<|tool_call|>",
       "<|tool_call|>[{\"name\": \"f\", \"arguments\": {}}]",
       {"", "", {called("f", "{}")}}},
      {"Phi-4 mini",
       "<|tool_call|><|/tool_call|>",
       "<|tool_call|>[{\"name\": \"f\", \"parameters\": {}}]<|/tool_call|>",
       {"", "", {called("f", "{}")}}},
      {"Llama 3.1",
       "\"parameters\": dictionary of argument name and its value",
       "<|python_tag|>{\"name\": \"f\", \"parameters\": {\"a\": {}}}",
       {"", "", {called("f", "{\"a\": {}}")}}},
      {"Llama 3.1",
       "\"parameters\": dictionary of argument name and its value",
       "{\"type\": \"function\", \"name\": \"f\", \"parameters\": {}}",
       {"", "", {called("f", "{}")}}},
      {"Llama 3.1",
       "\"parameters\": dictionary of argument name and its value",
       "Set {\"name\": 1}.",
       {"Set {\"name\": 1}.", "", {}}},
      {"Hermes",
       "",
       "a\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n",
       {"a", "", {called("f", "{}")}}},
  };
  return list;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(families)

BOOST_AUTO_TEST_CASE(each_is_read_as_it_writes) {
  for (const auto& each : cases())
    BOOST_TEST(read(syntax_of_template(each.chat_template), each.text) == each.expected, each.name);
}

BOOST_AUTO_TEST_CASE(delimiters_begin_with_text) {
  for (const auto& each : cases()) {
    const auto syntax = syntax_of_template(each.chat_template);
    for (const auto* part : delimiters_of(syntax))
      BOOST_TEST((part->empty() || part->front().type == delimiter_part::kind::text), each.name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
