// What Transformers' beam search finds on the golden models: the same hypotheses and scores, in any batch.
#include "engine/model_engines.hpp"
#include "golden/golden.hpp"
#include "test_data.hpp"

#include <cogen/decoding/beam_search.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(beam_searches)

struct hypothesis {
  std::vector<token> tokens;  // without an end token
  float score;
};

/// One search as Transformers made it.
struct recorded_search {
  std::string golden;
  beam_search_params params;
  int max_tokens;
  sampling_params sampling;
  std::vector<token> end_tokens;
  std::vector<hypothesis> found;
};

early_stopping stopping_named(const boost::json::value* name) {
  if (!name) return early_stopping::off;
  return name->is_bool() ? early_stopping::on : early_stopping::never;
}

template <class T>
T value_or(const boost::json::object& object, std::string_view name, T otherwise) {
  const auto* found = object.if_contains(name);
  return found ? found->to_number<T>() : otherwise;
}

std::vector<token> tokens_of(const boost::json::value& ids) {
  std::vector<token> tokens;
  for (const auto& each : ids.as_array()) tokens.push_back(each.to_number<token>());
  return tokens;
}

recorded_search read_search(const boost::json::object& object) {
  recorded_search search;
  search.golden = object.at("golden").as_string();
  search.params = {.num_beams = value_or(object, "num_beams", 0),
                   .num_return_sequences = value_or(object, "num_return_sequences", 0),
                   .length_penalty = value_or(object, "length_penalty", 1.0),
                   .early_stopping = stopping_named(object.if_contains("early_stopping"))};
  search.max_tokens = value_or(object, "max_new_tokens", 0);
  search.sampling.repetition_penalty = value_or(object, "repetition_penalty", 1.0);
  search.sampling.min_tokens = value_or(object, "min_new_tokens", 0);
  search.end_tokens = tokens_of(object.at("eos_token_id"));
  for (const auto& each : object.at("hypotheses").as_array()) {
    auto tokens = tokens_of(each.at("ids"));
    if (std::ranges::find(search.end_tokens, tokens.back()) != search.end_tokens.end()) tokens.pop_back();
    search.found.push_back({std::move(tokens), each.at("score").to_number<float>()});
  }
  return search;
}

std::vector<recorded_search> recorded_searches() {
  std::ifstream file(test_data() / "decoding/beam_searches.json");
  const auto document = boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  std::vector<recorded_search> searches;
  for (const auto& each : document.as_array()) searches.push_back(read_search(each.as_object()));
  return searches;
}

request request_of(const recorded_search& search) {
  const auto prompt = golden::read_folder(golden_folder(search.golden)).prompts.front();
  request result{.prompt = token_ids(prompt.ids),
                 .max_tokens = search.max_tokens,
                 .sampling = search.sampling,
                 .stop_token_ids = search.end_tokens,
                 .ignore_eos = true};
  if (!prompt.source.empty()) result.encoder_input = token_ids(prompt.source);
  return result;
}

struct answer {
  std::vector<token> tokens;
  std::optional<float> score;
  finish_reason reason = finish_reason::failed;

  bool operator==(const answer&) const = default;
};

std::vector<answer> read(engine& running, stream_group streams) {
  net::io_context context;
  std::vector<answer> answers(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i)
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      BOOST_TEST(!code, streams[i].error().message());
      for (const auto& each : whole.tokens) answers[i].tokens.push_back(each.id);
      answers[i].score = streams[i].score();
      answers[i].reason = whole.reason;
    }));
  settle(running, context);
  return answers;
}

/// As short as the searches allow: LongRoPE rotates differently in engines for longer sequences.
engine_options options_for(const model& model) {
  auto options = tiny_engine(model);
  options.limits.max_sequence_length = 48;
  options.batching.slots = 8;
  options.policies.idle_timeout = std::chrono::milliseconds(0);  // beams without a slot take turns at once
  return options;
}

/// Of the names in the file, which are in alphabetical order, each once.
std::vector<std::string> searched_goldens() {
  std::vector<std::string> names;
  for (const auto& each : recorded_searches())
    if (names.empty() || names.back() != each.golden) names.push_back(each.golden);
  return names;
}

void check(const recorded_search& expected, const std::vector<answer>& answers) {
  BOOST_REQUIRE_EQUAL(answers.size(), expected.found.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto& [tokens, score] = expected.found[i];
    BOOST_TEST(answers[i].tokens == tokens, boost::test_tools::per_element());
    BOOST_TEST((std::abs(answers[i].score.value() - score) <= 1e-4F * std::max(1.F, std::abs(score))),
               expected.golden << " " << i << ": " << answers[i].score.value() << " is not " << score);
    const bool is_cut = static_cast<int>(tokens.size()) == expected.max_tokens;
    BOOST_CHECK(answers[i].reason == (is_cut ? finish_reason::length : finish_reason::eos));
  }
}

BOOST_DATA_TEST_CASE(each_golden_gives_the_hypotheses_and_scores_of_transformers,
                     data::make(devices) * data::make(searched_goldens()), device, golden) {
  const auto model = golden_model(golden, device);
  engine running(model, options_for(*model));
  for (const auto& each : recorded_searches())
    if (each.golden == golden) check(each, read(running, running.generate(request_of(each), beam_search(each.params))));
  BOOST_TEST(running.stats().free_slots == 8);
  BOOST_TEST(running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(searches_find_the_same_bits_beside_each_other_and_beside_other_requests) {
  for (const std::string golden : {"llama_default", "jamba_tiny", "bart_tiny"}) {
    const auto model = golden_model(golden);
    std::vector<recorded_search> searches;
    for (const auto& each : recorded_searches())
      if (each.golden == golden) searches.push_back(each);
    std::vector<answer> alone, together;
    for (const auto& each : searches) {
      engine running(model, options_for(*model));
      for (auto& found : read(running, running.generate(request_of(each), beam_search(each.params))))
        alone.push_back(std::move(found));
    }
    engine running(model, options_for(*model));
    std::vector<token_stream> streams;
    for (const auto& each : searches)
      for (auto& stream : running.generate(request_of(each), beam_search(each.params)))
        streams.push_back(std::move(stream));
    streams.push_back(running.generate(request_of(searches.front())));
    together = read(running, stream_group(std::move(streams)));
    together.pop_back();
    BOOST_CHECK(together == alone);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
