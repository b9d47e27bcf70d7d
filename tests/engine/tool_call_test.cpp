// Calls of tools and reasoning on a tiny model, whose random weights say anything that they may.
#include "engine_parts/make_parts.hpp"
#include "model_engines.hpp"
#include "text/small_tokenizer.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>

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
  sampling_params how{.temperature = 1, .seed = seed};
  for (const char each : {' ', '\n', '\r', '\t'}) how.logit_bias[each] = -std::numeric_limits<double>::infinity();
  return how;
}

request calling(tool_choice choice, std::uint64_t seed = 1) {
  return {
      .prompt = chat("Hi"), .tools = calculator(), .tool_choice = std::move(choice), .sampling = without_space(seed)};
}

struct called_response {
  completion whole;
  diagnostics error;
};

called_response respond(engine& running, request what) {
  net::io_context context;
  called_response all;
  auto stream = running.generate(std::move(what));
  stream.async_complete(
      net::bind_executor(context, [&](error_code, completion whole) { all.whole = std::move(whole); }));
  settle(running, context);
  all.error = stream.error();
  return all;
}

std::string refusal_of(engine& running, request what) { return respond(running, std::move(what)).error.message(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_calls)

BOOST_AUTO_TEST_CASE(a_required_call_is_complete_and_valid) {
  auto running = calling_engine(hermes);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    auto what = calling({tool_choice::kind::function, "add"}, seed);
    const auto all = respond(running, what);
    BOOST_TEST(!all.error, all.error.message());
    BOOST_TEST((all.whole.reason == finish_reason::eos));
    BOOST_TEST(all.whole.text == "");
    BOOST_REQUIRE(all.whole.tool_calls.size() == 1u);
    const auto& call = all.whole.tool_calls.front();
    BOOST_TEST((call.status == tool_call_status::complete));
    BOOST_TEST(call.name == "add");
    const auto a = boost::json::parse(call.arguments).at("a").as_int64();
    BOOST_TEST((a >= 0 && a <= 99));
  }
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

BOOST_AUTO_TEST_CASE(a_call_that_max_tokens_cuts_is_unfinished) {
  auto running = calling_engine(hermes);
  auto what = calling({tool_choice::kind::required});
  what.max_tokens = 30;
  const auto whole = respond(running, what).whole;
  BOOST_TEST((whole.reason == finish_reason::length));
  BOOST_REQUIRE(whole.tool_calls.size() == 1u);
  BOOST_TEST((whole.tool_calls.front().status == tool_call_status::unfinished));
}

BOOST_AUTO_TEST_CASE(reasoning_ends_with_its_budget_and_the_answer_follows) {
  auto running = calling_engine(thinking + "{# </think> #}");
  request what{.prompt = chat("Hi"), .reasoning_budget = 5, .max_tokens = 40, .sampling = without_space(3)};
  const auto free = respond(running, what).whole;
  BOOST_TEST(free.reasoning.size() == 5u);
  BOOST_TEST(free.text.size() > 0u);
  what.response_format = choice({"yes", "no"});
  const auto formatted = respond(running, what).whole;
  BOOST_TEST(formatted.reasoning.size() == 5u);
  BOOST_TEST((formatted.text == "yes" || formatted.text == "no"));
  what.response_format.reset();
  what.tools = calculator();
  what.tool_choice = {tool_choice::kind::function, "negate"};
  what.max_tokens.reset();
  const auto called = respond(running, what).whole;
  BOOST_TEST(called.reasoning.size() == 5u);
  BOOST_REQUIRE(called.tool_calls.size() == 1u);
  BOOST_TEST(called.tool_calls.front().name == "negate");
}

BOOST_DATA_TEST_CASE(forced_parts_of_calls_and_of_reasoning_change_nothing, boost::unit_test::data::make(devices),
                     device) {
  for (const auto& chat_template : {hermes, thinking + "{# </think> #}"}) {
    auto forcing = calling_engine(chat_template, "", device), plain = calling_engine(chat_template, "", device, false);
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      for (const auto& wanted : {tool_choice{tool_choice::kind::function, "add"},
                                 tool_choice{tool_choice::kind::automatic}, tool_choice{tool_choice::kind::required}}) {
        auto what = calling(wanted, seed);
        what.max_tokens = 90;
        if (chat_template != hermes) what.reasoning_budget = 5;
        const auto found = respond(forcing, what).whole, expected = respond(plain, what).whole;
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
  BOOST_TEST(refusal_of(running, calling({tool_choice::kind::function, "divide"})) ==
             "tool_choice names the function 'divide', which no tool has");
  BOOST_TEST(refusal_of(running, {.prompt = token_ids{1}, .tool_choice = {tool_choice::kind::required}}) ==
             "tool_choice and reasoning_budget are for a chat, and the prompt is none");
  BOOST_TEST(refusal_of(running, {.prompt = chat("Hi"), .reasoning_budget = -1}) ==
             "reasoning_budget is -1; it must be at least 0");
  BOOST_TEST(refusal_of(running, {.prompt = chat("Hi"), .reasoning_budget = 3}) ==
             "reasoning_budget is 3, and the model's chat template knows no reasoning");
  auto both = calling({tool_choice::kind::required});
  both.response_format = json_object();
  BOOST_TEST(refusal_of(running, both) == "tool_choice requires a call, which response_format excludes");
  auto wrong = calling({});
  wrong.tools[0].at("function").at("parameters") = {{"type", "object"}, {"properties", {{"a", {{"type", "int"}}}}}};
  BOOST_TEST(refusal_of(running, wrong).find("the parameters of the tool 'add': ") == 0u);
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
