// Response formats on tiny models, whose random weights say anything that they may.
#include "answers/grammar/schema_document.hpp"
#include "answers/grammar/schema_validity.hpp"
#include "engine/parts/make_parts.hpp"
#include "model_engines.hpp"
#include "text/small_tokenizer.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>
#include <random>
#include <regex>
#include <set>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;
namespace json = boost::json;

constexpr token end_token = 127;

/// Has more tokens than the models: all bytes, and some of several characters.
std::shared_ptr<const text::tokenizer> byte_tokenizer() {
  static const auto tokenizer = std::make_shared<const text::tokenizer>(
      small_tokenizer({{"{", "\""}, {"\"", ":"}, {"\"", ","}, {"1", "2"}, {"t", "r"}, {"tr", "u"}, {"tru", "e"}}));
  return tokenizer;
}

engine bytes_engine(const std::string& golden, const std::string& device, engine_options options = tiny_engine(),
                    std::shared_ptr<const text::tokenizer> tokens = byte_tokenizer(), bool runs_drafts = true) {
  auto parts = detail::make_parts(golden_model(golden, device), options);
  if (!runs_drafts) parts.limits.max_draft_tokens = 0;
  parts.tokenizer = std::move(tokens);
  parts.end_tokens = {end_token};
  return engine(std::move(parts), std::move(options));
}

engine engine_without_drafts(const std::string& golden, const std::string& device) {
  return bytes_engine(golden, device, tiny_engine(), byte_tokenizer(), false);
}

/// How a request with a format ended, and the text of its tokens.
struct answer {
  std::string text;
  std::optional<finish_reason> reason;
  diagnostics error;
  cogen::usage usage;
};

std::vector<answer> ask(engine& running, const std::vector<request>& requests) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<answer> answers(requests.size());
  for (const auto& each : requests) streams.push_back(running.generate(each));
  for (std::size_t i = 0; i < streams.size(); ++i)
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code, const completion& whole) {
      answers[i] = {whole.text, streams[i].finish(), streams[i].error(), whole.usage};
    }));
  settle(running, context);
  return answers;
}

request asking(response_constraint format, sampling_params params = {}) {
  return {.prompt = token_ids{1, 2, 3}, .sampling = std::move(params), .response_format = std::move(format)};
}

/// Space between the tokens of JSON, of which random weights may want any amount.
void forbid_space(sampling_params& params) {
  for (const char each : {' ', '\n', '\r', '\t'}) params.logit_bias[each] = -std::numeric_limits<double>::infinity();
}

sampling_params some_sampling(std::mt19937& random) {
  sampling_params params{.seed = random()};
  if (random() % 4 != 0) params.temperature = 0.5 + static_cast<double>(random() % 30);
  if (random() % 3 == 0) params.top_k = 1 + random() % 20;
  if (random() % 3 == 0) params.top_p = 0.7;
  if (random() % 3 == 0) params.min_p = 0.05;
  if (random() % 3 == 0) params.repetition_penalty = 1.5;
  if (random() % 4 == 0) params.min_tokens = random() % 10;
  if (random() % 5 == 0) params.logprobs = 1;
  return params;
}

/// Of finite values, all of which fit into a context.
json::value some_schema(std::mt19937& random, int depth) {
  const auto below = [&](unsigned bound) { return static_cast<int>(random() % bound); };
  switch (below(depth > 0 ? 8 : 6)) {
    case 0:
      return {{"type", "integer"}, {"minimum", below(50) - 25}, {"maximum", 30 + below(90)}};
    case 1:
      return {{"type", "boolean"}};
    case 2:
      return {{"enum", {"red", "green", below(9), nullptr}}};
    case 3:
      return {{"type", "string"}, {"minLength", below(3)}, {"maxLength", 3 + below(4)}};
    case 4:
      return {{"type", "string"}, {"pattern", "^[a-c]{1,3}[0-9]?$"}};
    case 5:
      return {{"anyOf", {{{"type", "null"}}, {{"const", below(100)}}}}};
    case 6:
      return {{"type", "array"}, {"items", some_schema(random, depth - 1)}, {"maxItems", below(4)}};
    default: {
      json::object properties;
      json::array required;
      for (const char* name : {"a", "bc", "name"}) {
        properties[name] = some_schema(random, depth - 1);
        if (below(2) == 0) required.emplace_back(name);
      }
      return {{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false}};
    }
  }
}

bool is_valid(const std::string& schema, const std::string& text) {
  const grammar::schema_document document(grammar::parse_schema(schema));
  return grammar::is_valid(document, document.root(), json::parse(text));
}

const std::vector<std::string> goldens{"llama_default", "gemma3_text", "jamba_tiny"};

BOOST_AUTO_TEST_SUITE(response_formats)

BOOST_DATA_TEST_CASE(every_format_is_kept, data::make(goldens) * data::make(devices), golden, device) {
  auto running = bytes_engine(golden, device);
  std::mt19937 random(1);
  std::vector<request> requests;
  for (int round = 0; round < 3; ++round) {
    requests.push_back(asking(choice({"yes", "no", "perhaps"}), some_sampling(random)));
    requests.push_back(asking(regex("[a-f]{2,9}-(0|1[0-9])"), some_sampling(random)));
    requests.push_back(asking(ebnf("root ::= \"<\" [a-c] root? \">\" | \"!\""), some_sampling(random)));
    requests.push_back(asking(json_schema(R"({"type": "integer", "minimum": 12, "maximum": 1234})"), {}));
    requests.push_back(asking(json_object(), some_sampling(random)));
  }
  const auto answers = ask(running, requests);
  for (std::size_t i = 0; i < answers.size(); i += 5) {
    for (std::size_t j = i; j < i + 4; ++j) BOOST_TEST((answers[j].reason == finish_reason::eos || j == i + 2));
    BOOST_TEST((std::set<std::string>{"yes", "no", "perhaps"}.contains(answers[i].text)), answers[i].text);
    BOOST_TEST(std::regex_match(answers[i + 1].text, std::regex("[a-f]{2,9}-(0|1[0-9])")), answers[i + 1].text);
    if (answers[i + 2].reason == finish_reason::eos) {
      const auto& text = answers[i + 2].text;
      BOOST_TEST(std::ranges::count(text, '<') == std::ranges::count(text, '>'), text);
    }
    const auto number = std::stoi(answers[i + 3].text);
    BOOST_TEST((number >= 12 && number <= 1234), answers[i + 3].text);
    if (answers[i + 4].reason == finish_reason::eos) BOOST_CHECK(json::parse(answers[i + 4].text).is_object());
  }
}

BOOST_DATA_TEST_CASE(texts_of_random_schemas_are_valid, data::make(devices), device) {
  auto running = bytes_engine("llama_default", device);
  std::mt19937 random(2);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::string> schemas;
    std::vector<request> requests;
    for (int i = 0; i < 8; ++i) {
      schemas.push_back(json::serialize(some_schema(random, 2)));
      requests.push_back(asking(json_schema(schemas.back()), some_sampling(random)));
      forbid_space(requests.back().sampling);
    }
    const auto answers = ask(running, requests);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      BOOST_TEST(!answers[i].error, schemas[i] << ": " << answers[i].error.message());
      BOOST_CHECK(answers[i].reason == finish_reason::eos);
      BOOST_TEST(is_valid(schemas[i], answers[i].text), schemas[i] << ": " << answers[i].text);
    }
  }
}

BOOST_DATA_TEST_CASE(what_is_forced_or_drafted_changes_no_text, data::make(goldens) * data::make(devices), golden,
                     device) {
  auto drafting = bytes_engine(golden, device), plain = engine_without_drafts(golden, device);
  std::mt19937 random(3);
  const auto drafter = prompt_lookup({.min_ngram = 1});
  std::vector<request> requests;
  for (int i = 0; i < 4; ++i) {
    const auto add = [&](response_constraint format) {
      requests.push_back(asking(std::move(format), some_sampling(random)));
      forbid_space(requests.back().sampling);
      requests.back().max_tokens = 40;
      if (i % 2 == 1) requests.back().speculative.drafter = drafter;
    };
    add(json_schema(json::serialize(some_schema(random, 2))));
    add(json_schema(R"({"type": "object", "properties": {"temperature": {"type": "integer"}, "true": {"const": true}},
                        "required": ["temperature", "true"], "additionalProperties": false})"));
    add(regex("(ab|cd)-in-between-(x|y)"));
    add(choice({"perhaps so", "perhaps not", "never"}));
  }
  auto without = requests;
  for (auto& each : without) each.speculative = {};
  const auto found = ask(drafting, requests), expected = ask(plain, without);
  int accepted = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    BOOST_TEST(found[i].text == expected[i].text);
    BOOST_CHECK(found[i].reason == expected[i].reason);
    BOOST_TEST(found[i].usage.generated_tokens == expected[i].usage.generated_tokens);
    accepted += found[i].usage.accepted_draft_tokens;
  }
  if (golden != "jamba_tiny") BOOST_TEST(accepted > 30);
}

BOOST_AUTO_TEST_CASE(devices_say_the_same) {
  std::vector<std::vector<std::string>> said;
  for (const auto& device : devices) {
    auto running = bytes_engine("llama_default", device);
    std::vector<request> requests;
    for (std::uint64_t seed = 0; seed < 6; ++seed)
      requests.push_back(asking(regex("[a-z]{4,12}"), {.temperature = 3, .top_k = 9, .seed = seed}));
    auto& texts = said.emplace_back();
    for (const auto& each : ask(running, requests)) texts.push_back(each.text);
  }
  for (const auto& texts : said) BOOST_TEST(texts == said.front(), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(a_preempted_generation_keeps_its_place_in_the_grammar, data::make(devices) * data::make({1, 3}),
                     device, buffered) {
  auto options = tiny_engine();
  options.batching.slots = 2;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  auto running = bytes_engine("llama_default", device, options), alone = engine_without_drafts("llama_default", device);
  std::vector<request> requests;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    requests.push_back(asking(regex("([a-z]{3}-and-){3}[0-9]"), {.temperature = 9, .seed = seed}));
    requests.back().max_buffered_tokens = buffered;
  }
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::string> texts(requests.size());
  for (const auto& each : requests) streams.push_back(running.generate(each));
  for (int i = 0; i < 30; ++i)  // read in turn, so that others rest meanwhile
    for (std::size_t j = 0; j < streams.size(); ++j) {
      streams[j].async_next(net::bind_executor(context, [&, j](error_code, const std::optional<piece>& next) {
        if (next) texts[j] += next->text;
      }));
      settle(running, context);
    }
  BOOST_TEST(running.stats().preempted > 0u);
  const auto expected = ask(alone, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) BOOST_TEST(texts[i] == expected[i].text);
}

BOOST_AUTO_TEST_CASE(stop_strings_may_end_a_text_early_and_the_reason_says_so) {
  auto running = bytes_engine("llama_default", "cpu");
  auto stopping = asking(choice({"abc-def"}));
  stopping.stop = {"-"};
  const auto answers = ask(running, {stopping});
  BOOST_TEST(answers[0].text == "abc");
  BOOST_CHECK(answers[0].reason == finish_reason::stop_string);
}

BOOST_AUTO_TEST_CASE(a_format_that_does_not_compile_fails_its_request_alone) {
  auto running = bytes_engine("llama_default", "cpu");
  const auto answers = ask(running, {asking(json_schema(R"({"$dynamicRef": "#a"})")), asking(choice({"abc"})),
                                     asking(regex("(a")), asking(json_schema("{"))});
  BOOST_CHECK_EQUAL(answers[0].error.code(), make_error_code(error::invalid_request));
  BOOST_TEST(answers[0].error.message().find("$dynamicRef") != std::string::npos, answers[0].error.message());
  BOOST_TEST(answers[1].text == "abc");
  BOOST_CHECK_EQUAL(answers[2].error.code(), make_error_code(error::invalid_request));
  BOOST_CHECK_EQUAL(answers[3].error.code(), make_error_code(error::invalid_request));
  BOOST_TEST(running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(a_compiled_format_serves_requests_sequences_and_engines_of_its_tokenizer) {
  auto first = bytes_engine("llama_default", "cpu"), second = bytes_engine("gemma3_text", "cpu");
  auto other =
      bytes_engine("llama_default", "cpu", tiny_engine(), std::make_shared<const text::tokenizer>(small_tokenizer({})));
  compiled_format format;
  drive(first, [&]() -> net::awaitable<void> {
    format = co_await first.async_compile(choice({"abc"}));
    const auto again = co_await first.async_compile(choice({"abc"}));
    BOOST_TEST(format.bytes() > 0u);
    BOOST_TEST(&again.tokens() == byte_tokenizer().get());
    auto sequence = first.open();
    co_await sequence.async_forward({1, 2});
    sequence.constrain(format.start());
    std::string text;
    for (int i = 0; i < 3; ++i) text += static_cast<char>((co_await sequence.async_decode()).id);
    BOOST_TEST(text == "abc");
  });
  BOOST_TEST(ask(first, {asking(format)})[0].text == "abc");
  BOOST_TEST(ask(second, {asking(format)})[0].text == "abc");
  BOOST_TEST(ask(other, {asking(format)})[0].error.message() == "the response format was compiled for another model");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_compiled_is_refused_in_a_sentence) {
  auto options = tiny_engine();
  options.structured_output.limits.states = 20;
  auto running = bytes_engine("llama_default", "cpu", options);
  drive(running, [&]() -> net::awaitable<void> {
    for (const auto& [format, words] :
         std::vector<std::pair<response_format, std::string>>{{json_schema(R"({"$dynamicRef": "#a"})"), "$dynamicRef"},
                                                              {regex("[a-z]{1,99}"), "more than 20 states"},
                                                              {choice({}), "allows nothing"}}) {
      try {
        co_await running.async_compile(format);
        BOOST_ERROR("compiled");
      } catch (const generation_error& refused) {
        BOOST_CHECK_EQUAL(refused.code(), make_error_code(error::invalid_request));
        BOOST_TEST(std::string_view(refused.what()).find(words) != std::string::npos, refused.what());
      }
    }
  });
  BOOST_TEST(running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(compiling_is_cancelled_drained_and_stopped_like_other_operations) {
  auto options = tiny_engine();
  options.external_stepping = false;
  auto running = bytes_engine("llama_default", "cpu", options);
  net::io_context context;
  net::cancellation_signal signal;
  std::vector<error_code> received;
  const auto compile = [&] {
    running.async_compile(json_object(), net::bind_executor(context, [&](error_code code, const compiled_format&) {
                            received.push_back(code);
                          }));
  };
  running.async_compile(json_schema(R"({"type": "array", "items": {"type": "string", "maxLength": 90}})"),
                        net::bind_cancellation_slot(
                            signal.slot(), net::bind_executor(context, [&](error_code code, const compiled_format&) {
                              received.push_back(code);
                            })));
  signal.emit(net::cancellation_type::terminal);
  compile();
  context.run();
  BOOST_TEST(received.size() == 2u);
  BOOST_TEST(std::ranges::count(received, error_code()) >= 1);
  running.async_drain(net::bind_executor(context, [](error_code code) { BOOST_TEST(!code); }));
  compile();
  context.restart();
  context.run();
  BOOST_CHECK_EQUAL(received.back(), make_error_code(error::draining));
  running.stop();
  compile();
  context.restart();
  context.run();
  BOOST_TEST(received.size() == 4u);
  BOOST_TEST(received.back().failed());
}

BOOST_AUTO_TEST_CASE(guides_outlive_the_engine_that_compiled_them) {
  compiled_format format;
  {
    auto running = bytes_engine("llama_default", "cpu");
    drive(running, [&]() -> net::awaitable<void> { format = co_await running.async_compile(choice({"ab"})); });
  }
  const auto place = format.start();
  place->accept('a');
  place->accept('b');
  BOOST_TEST(place->is_complete());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
