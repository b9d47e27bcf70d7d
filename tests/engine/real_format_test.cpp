// Response formats on the default model: each is kept, and says the same alone and beside others.
#include "../devices.hpp"
#include "../test_data.hpp"
#include "answers/grammar/schema_document.hpp"
#include "answers/grammar/schema_validity.hpp"
#include "engine/parts/make_parts.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/use_future.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <regex>

namespace cogen::test {
namespace {

const std::string person = R"({"type": "object", "additionalProperties": false, "required": ["name", "age"],
  "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120},
                 "colors": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 2}}})";

/// A format, what it is asked for, and whether a text is of it.
struct asked_format {
  response_constraint format;
  std::string prompt;
  std::function<bool(const std::string&)> is_kept;
};

bool is_person(const std::string& text) {
  const grammar::schema_document document(grammar::parse_schema(person));
  return grammar::is_valid(document, document.root(), boost::json::parse(text));
}

std::vector<asked_format> formats() {
  return {{json_schema(person), "Describe Anna, who is 34, in JSON.", is_person},
          {json_object(), "Answer with a JSON object: what is your name?",
           [](const std::string& text) { return boost::json::parse(text).is_object(); }},
          {regex("[A-Z][a-z]{2,8} [0-9]{1,2}, (19|20)[0-9]{2}"), "When did people walk on the moon first?",
           [](const std::string& text) {
             return std::regex_match(text, std::regex("[A-Z][a-z]{2,8} [0-9]{1,2}, (19|20)[0-9]{2}"));
           }},
          {choice({"positive", "negative"}), "Is this positive or negative: I hate Mondays.",
           [](const std::string& text) { return text == "positive" || text == "negative"; }},
          {ebnf("root ::= [0-9]+ (\" + \" [0-9]+)* \".\""), "Write a sum.",
           [](const std::string& text) { return std::regex_match(text, std::regex("[0-9]+( \\+ [0-9]+)*\\.")); }}};
}

std::vector<request> requests() {
  std::vector<request> result;
  for (const auto& each : formats()) {
    result.push_back({.prompt = chat(each.prompt), .max_tokens = 80, .response_format = each.format});
    result.push_back({.prompt = chat(each.prompt),
                      .max_tokens = 80,
                      .sampling = {.temperature = 1.2, .top_p = 0.95, .repetition_penalty = 1.1, .seed = 4},
                      .response_format = each.format});
  }
  return result;
}

std::vector<completion> run(engine& running, const std::vector<request>& requests) {
  std::vector<token_stream> streams;
  for (const auto& each : requests) streams.push_back(running.generate(each));
  std::vector<std::future<completion>> futures;
  for (auto& each : streams) futures.push_back(each.async_complete(net::use_future));
  std::vector<completion> results;
  for (auto& each : futures) results.push_back(each.get());
  return results;
}

const std::filesystem::path real_model = default_model_file();

engine_options ten_slots() { return {.batching = {.slots = 10}, .limits = {.max_sequence_length = 256}}; }

engine engine_without_drafts(const std::shared_ptr<const model>& source) {
  auto options = ten_slots();
  auto parts = detail::make_parts(source, options);
  parts.limits.max_draft_tokens = 0;
  return engine(std::move(parts), std::move(options));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(real_formats)

BOOST_DATA_TEST_CASE(formats_are_kept_alone_and_in_one_batch, boost::unit_test::data::make(cogen::test::devices),
                     device) {
  engine running(load_model(real_model, {.device = device}), ten_slots());
  const auto together = run(running, requests());
  const auto known = formats();
  int complete = 0;
  for (std::size_t i = 0; i < together.size(); ++i) {
    const auto& said = together[i];
    BOOST_TEST_MESSAGE(said.text);
    if (said.reason == finish_reason::eos) BOOST_TEST(known[i / 2].is_kept(said.text), said.text);
    BOOST_TEST((said.reason == finish_reason::eos || said.reason == finish_reason::length));
    complete += said.reason == finish_reason::eos;
  }
  BOOST_TEST(complete >= 6);
  if (device != "cpu") return;
  for (std::size_t i = 0; i < together.size(); ++i)
    BOOST_TEST(run(running, {requests()[i]}).front().text == together[i].text);
}

BOOST_DATA_TEST_CASE(forced_tokens_and_drafts_change_no_text, boost::unit_test::data::make(cogen::test::devices),
                     device) {
  const auto model = load_model(real_model, {.device = device});
  engine drafting(model, ten_slots());
  auto plain = engine_without_drafts(model);
  const auto expected = run(plain, requests()), forced = run(drafting, requests());
  auto with_drafter = requests();
  for (auto& each : with_drafter) each.speculative.drafter = prompt_lookup();
  const auto drafted = run(drafting, with_drafter);
  usage total;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST(forced[i].text == expected[i].text);
    BOOST_TEST(drafted[i].text == expected[i].text);
    BOOST_CHECK(forced[i].reason == expected[i].reason);
    total.generated_tokens += forced[i].usage.generated_tokens;
    total.draft_tokens += forced[i].usage.draft_tokens;
    total.accepted_draft_tokens += forced[i].usage.accepted_draft_tokens;
  }
  BOOST_TEST_MESSAGE(device << ": of " << total.generated_tokens << " tokens " << total.draft_tokens
                            << " were forced, and " << total.accepted_draft_tokens << " of them accepted");
  BOOST_TEST(total.accepted_draft_tokens > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
