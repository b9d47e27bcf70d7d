// Calls of tools and reasoning on a tiny model, whose random weights say anything that they may.
#include "engine/parts/make_parts.hpp"
#include "model_engines.hpp"
#include "text/small_tokenizer.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string>

namespace cogen::test {
namespace {

constexpr token calling_end = 127;

/// The tokens of the model are bytes. Its chat template tells of a family.
engine calling_engine(const std::string& chat_template, const std::string& response_template = "",
                      const std::string& device = "cpu", bool runs_drafts = true) {
  auto options = tiny_engine();
  auto parts = detail::make_parts(golden_model("llama_default", device), options);
  if (!runs_drafts) parts.limits.max_draft_tokens = 0;
  auto spec = small_spec({});
  spec.chat_template = chat_template;
  spec.response_template = response_template;
  parts.tokenizer = std::make_shared<const text::tokenizer>(std::move(spec));
  parts.chat = std::make_shared<const text::chat_template>(chat_template);
  parts.end_tokens = {calling_end};
  return engine(std::move(parts), std::move(options));
}

const std::string hermes = "{# <tool_call> #}{{ messages[0].content }}:";
const std::string thinking = "{# <tool_call> #}{{ messages[0].content }}:<think>";

boost::json::array calculator() {
  return boost::json::parse(R"([
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "required": ["a"],
      "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 99}}, "additionalProperties": false}}},
    {"type": "function", "function": {"name": "negate"}}])")
      .as_array();
}

sampling_params without_space(std::uint64_t seed) {
  sampling_params params{.temperature = 1, .seed = seed};
  for (const char each : {' ', '\n', '\r', '\t'}) params.logit_bias[each] = -std::numeric_limits<double>::infinity();
  return params;
}

request calling(tool_choice choice, std::uint64_t seed = 1) {
  return {
      .prompt = chat("Hi"), .tools = calculator(), .tool_choice = std::move(choice), .sampling = without_space(seed)};
}

struct called_response {
  completion whole;
  diagnostics error;
};

called_response respond(engine& running, request query) {
  net::io_context context;
  called_response result;
  auto stream = running.generate(std::move(query));
  stream.async_complete(
      net::bind_executor(context, [&](error_code, completion whole) { result.whole = std::move(whole); }));
  settle(running, context);
  result.error = stream.error();
  return result;
}

std::string refusal_of(engine& running, request query) { return respond(running, std::move(query)).error.message(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_calls)

BOOST_AUTO_TEST_CASE(a_required_call_is_complete_and_valid) {
  auto running = calling_engine(hermes);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    auto query = calling(tool_choice::call("add"), seed);
    const auto response = respond(running, query);
    BOOST_TEST(!response.error, response.error.message());
    BOOST_TEST((response.whole.reason == finish_reason::eos));
    BOOST_TEST(response.whole.text == "");
    BOOST_REQUIRE(response.whole.tool_calls.size() == 1u);
    const auto& call = response.whole.tool_calls.front();
    BOOST_TEST((call.status == tool_call_status::complete));
    BOOST_TEST(call.name == "add");
    const auto a = boost::json::parse(call.arguments).at("a").as_int64();
    BOOST_TEST((a >= 0 && a <= 99));
  }
}

BOOST_AUTO_TEST_CASE(answers_and_results_are_messages_of_the_chat) {
  const tool_call whole{"abc", "add", R"({"a": 1})", tool_call_status::complete};
  const tool_call cut{"def", "add", R"({"a": )", tool_call_status::unfinished};
  completion answer;
  answer.text = "Well.";
  BOOST_TEST(assistant(answer).role == "assistant");
  BOOST_TEST(assistant(answer).content == "Well.");
  BOOST_TEST(assistant(answer).extra->empty());
  answer.reasoning = "One and one.";
  answer.tool_calls = {whole, cut};
  const auto message = assistant(answer);
  BOOST_TEST(message.extra->at("reasoning_content") == "One and one.");
  const auto& calls = message.extra->at("tool_calls").as_array();
  BOOST_TEST(
      calls.at(0) ==
      boost::json::parse(R"({"id": "abc", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}})"));
  BOOST_TEST(calls.at(1).at_pointer("/function/arguments") == R"({"a": )");
  const auto result = tool_result(whole, "2");
  BOOST_TEST(result.role == "tool");
  BOOST_TEST(result.content == "2");
  BOOST_TEST(*result.extra == boost::json::parse(R"({"name": "add", "tool_call_id": "abc"})").as_object());
}

BOOST_AUTO_TEST_CASE(several_streams_of_a_request_have_calls_of_their_own) {
  auto running = calling_engine(hermes);
  net::io_context context;
  auto streams = running.generate_n(calling({tool_choice::kind::required}), 2);
  std::vector<completion> wholes(2);
  for (std::size_t i = 0; i < 2; ++i)
    streams[i].async_complete(
        net::bind_executor(context, [&, i](error_code, completion whole) { wholes[i] = std::move(whole); }));
  settle(running, context);
  for (const auto& each : wholes) BOOST_TEST(!each.tool_calls.empty());
}

BOOST_AUTO_TEST_CASE(calls_that_are_not_parallel_are_one_at_most) {
  auto running = calling_engine(hermes), mistral = calling_engine("{# [TOOL_CALLS] #}{{ messages[0].content }}:");
  for (auto* caller : {&running, &mistral})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      auto query = calling({tool_choice::kind::required}, seed);
      query.parallel_tool_calls = false;
      const auto response = respond(*caller, query);
      BOOST_TEST(!response.error, response.error.message());
      BOOST_TEST((response.whole.reason == finish_reason::eos));
      BOOST_TEST(response.whole.tool_calls.size() == 1u);
    }
}

BOOST_AUTO_TEST_CASE(an_only_call_ends_a_response_that_may_have_more) {
  const std::string first = R"(Well.<tool_call>{"name": "negate", "arguments": {}}</tool_call>)";
  const std::string script = first + "\n" + first;
  auto running = calling_engine(hermes);
  auto query = calling({});
  query.max_tokens = static_cast<int>(script.size());
  query.sampling.processor = [&](std::span<const token> history, std::span<float> logits) {
    constexpr std::size_t prompt = 3;  // "Hi:"
    std::ranges::fill(logits, -1000.0F);
    logits[static_cast<std::size_t>(script.at(history.size() - prompt))] = 0;
  };
  BOOST_TEST(respond(running, query).whole.tool_calls.size() == 2u);
  query.parallel_tool_calls = false;
  const auto answer = respond(running, query).whole;
  BOOST_TEST(answer.tool_calls.size() == 1u);
  BOOST_TEST(answer.text == "Well.");
  BOOST_TEST(answer.usage.generated_tokens == static_cast<int>(first.size()));
  BOOST_TEST((answer.reason == finish_reason::eos));
}

BOOST_AUTO_TEST_CASE(ids_of_calls_suit_the_family) {
  auto running = calling_engine("{# [TOOL_CALLS] #}{{ messages[0].content }}:");
  std::set<std::string> ids;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    for (const auto& call : respond(running, calling({tool_choice::kind::required}, seed)).whole.tool_calls) {
      BOOST_TEST(call.id.size() == 9u);
      BOOST_TEST(ids.insert(call.id).second, call.id);
    }
  auto usual = calling_engine(hermes);
  for (const auto& call : respond(usual, calling({tool_choice::kind::required})).whole.tool_calls)
    BOOST_TEST(!call.id.empty());
}

BOOST_AUTO_TEST_CASE(a_call_that_max_tokens_cuts_is_unfinished) {
  auto running = calling_engine(hermes);
  auto query = calling({tool_choice::kind::required});
  query.max_tokens = 30;
  const auto whole = respond(running, query).whole;
  BOOST_TEST((whole.reason == finish_reason::length));
  BOOST_REQUIRE(whole.tool_calls.size() == 1u);
  BOOST_TEST((whole.tool_calls.front().status == tool_call_status::unfinished));
}

BOOST_AUTO_TEST_CASE(reasoning_ends_with_its_budget_and_the_answer_follows) {
  auto running = calling_engine(thinking + "{# </think> #}");
  request query{.prompt = chat("Hi"), .reasoning_budget = 5, .max_tokens = 40, .sampling = without_space(3)};
  const auto free = respond(running, query).whole;
  BOOST_TEST(free.reasoning.size() == 5u);
  BOOST_TEST(free.text.size() > 0u);
  query.response_format = choice({"yes", "no"});
  const auto formatted = respond(running, query).whole;
  BOOST_TEST(formatted.reasoning.size() == 5u);
  BOOST_TEST((formatted.text == "yes" || formatted.text == "no"));
  query.response_format.reset();
  query.tools = calculator();
  query.tool_choice = tool_choice::call("negate");
  query.max_tokens.reset();
  const auto called = respond(running, query).whole;
  BOOST_TEST(called.reasoning.size() == 5u);
  BOOST_REQUIRE(called.tool_calls.size() == 1u);
  BOOST_TEST(called.tool_calls.front().name == "negate");
}

BOOST_AUTO_TEST_CASE(a_model_without_reasoning_has_nothing_to_limit) {
  auto running = calling_engine(hermes);
  request query{.prompt = chat("Hi"), .max_tokens = 12, .sampling = without_space(3)};
  const auto free = respond(running, query);
  query.reasoning_budget = 5;
  const auto limited = respond(running, query);
  BOOST_TEST(!limited.error, limited.error.message());
  BOOST_TEST(limited.whole.text == free.whole.text);
}

BOOST_DATA_TEST_CASE(forced_parts_of_calls_and_of_reasoning_change_nothing, boost::unit_test::data::make(devices),
                     device) {
  for (const auto& chat_template : {hermes, thinking + "{# </think> #}"}) {
    auto forcing = calling_engine(chat_template, "", device), plain = calling_engine(chat_template, "", device, false);
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      for (const auto& wanted : {tool_choice::call("add"), tool_choice{tool_choice::kind::automatic},
                                 tool_choice{tool_choice::kind::required}}) {
        auto query = calling(wanted, seed);
        query.max_tokens = 90;
        if (chat_template != hermes) query.reasoning_budget = 5;
        const auto found = respond(forcing, query).whole, expected = respond(plain, query).whole;
        BOOST_TEST(ids_of(found.tokens) == ids_of(expected.tokens), boost::test_tools::per_element());
        BOOST_TEST(found.reasoning == expected.reasoning);
        BOOST_CHECK(found.reason == expected.reason);
        const bool is_free = wanted.type == tool_choice::kind::automatic && chat_template == hermes;
        if (!is_free) BOOST_TEST(found.usage.accepted_draft_tokens >= 6);
      }
    BOOST_TEST(forcing.stats().steps < plain.stats().steps);
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_kept_is_refused_by_name) {
  auto running = calling_engine(hermes);
  BOOST_TEST(refusal_of(running, {.prompt = chat("Hi"), .tool_choice = {tool_choice::kind::required}}) ==
             "tool_choice requires a call, and there are no tools");
  BOOST_TEST(refusal_of(running, calling(tool_choice::call("divide"))) ==
             "tool_choice names the function 'divide', which no tool has");
  BOOST_TEST(refusal_of(running, {.prompt = token_ids{1}, .tool_choice = {tool_choice::kind::required}}) ==
             "tool_choice and reasoning_budget are for a chat, and the prompt is none");
  BOOST_TEST(refusal_of(running, {.prompt = chat("Hi"), .reasoning_budget = -1}) ==
             "reasoning_budget is -1; it must be at least 0");
  auto both = calling({tool_choice::kind::required});
  both.response_format = json_object();
  BOOST_TEST(refusal_of(running, both) == "tool_choice requires a call, which response_format excludes");
  auto wrong = calling({});
  auto& function = wrong.tools->at(0).at("function").as_object();
  function["parameters"] = {{"type", "object"}, {"properties", {{"a", {{"type", "int"}}}}}};
  function["strict"] = true;
  BOOST_TEST(refusal_of(running, wrong).find("the parameters of the tool 'add': ") == 0u);
}

BOOST_AUTO_TEST_CASE(what_schemas_do_not_keep_is_named) {
  auto running = calling_engine(hermes);
  auto query = calling(tool_choice::call("add"));
  query.tools->at(0).at("function").at("parameters").as_object()["$dynamicRef"] = "#x";
  const auto called = respond(running, query).whole;
  BOOST_REQUIRE(called.loosened.size() == 1u);
  BOOST_TEST(called.loosened.front().name == "$dynamicRef");
  BOOST_TEST(called.loosened.front().path == "add#");
  request formatted{.prompt = chat("Hi"), .sampling = without_space(2)};
  formatted.response_format = json_schema(R"({"type": "boolean", "$dynamicRef": "#x"})", false);
  BOOST_TEST(respond(running, formatted).whole.loosened.front().path == "#");
  BOOST_TEST(respond(running, calling({tool_choice::kind::required})).whole.loosened.empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_response_template_fails_requests_that_need_it) {
  auto running = calling_engine(hermes, R"({"version": 9})");
  BOOST_TEST(refusal_of(running, calling({})) ==
             "the model's responses are not understood: response_template.version is 9, but must be 1");
  const auto plain = respond(running, {.prompt = chat("Hi"), .max_tokens = 5});
  BOOST_TEST(!plain.error, plain.error.message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
