// Probabilities and kept sets against those of Transformers' processors (make.py).
#include "../test_data.hpp"
#include "sampling/sampler.hpp"

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <limits>
#include <string>

namespace json = boost::json;
using namespace cogen;

namespace {

json::value goldens() {
  std::ifstream file(test::test_data() / "sampling/processors.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return json::parse(text);
}

std::vector<float> logits_of(const json::value& row) {
  std::vector<float> logits;
  for (const auto& value : row.as_array())
    logits.push_back(value.is_null() ? -std::numeric_limits<float>::infinity() : value.to_number<float>());
  return logits;
}

sampling_params sampling_of(const json::object& fields) {
  sampling_params parameters;
  for (const auto& [name, value] : fields) {
    if (name == "temperature") parameters.temperature = value.to_number<double>();
    if (name == "top_k") parameters.top_k = value.to_number<std::int64_t>();
    if (name == "top_p") parameters.top_p = value.to_number<double>();
    if (name == "min_p") parameters.min_p = value.to_number<double>();
    if (name == "repetition_penalty") parameters.repetition_penalty = value.to_number<double>();
    if (name == "presence_penalty") parameters.presence_penalty = value.to_number<double>();
    if (name == "frequency_penalty") parameters.frequency_penalty = value.to_number<double>();
    if (name == "min_tokens") parameters.min_tokens = value.to_number<std::int64_t>();
    if (name == "logit_bias")
      for (const auto& [id, bias] : value.as_object())
        parameters.logit_bias[std::stoi(std::string(id))] = bias.to_number<double>();
  }
  return parameters;
}

token_history history_of(const json::object& golden) {
  token_history history;
  history.append_given(json::value_to<std::vector<token>>(golden.at("prompt")));
  for (const token id : json::value_to<std::vector<token>>(golden.at("generated"))) history.append_generated(id);
  return history;
}

void check(const json::object& golden, std::vector<float> logits) {
  const auto end_tokens = json::value_to<std::vector<token>>(golden.at("end_tokens"));
  const sampler chooses(sampling_of(golden.at("sampling").as_object()), std::ssize(logits), end_tokens);
  auto history = history_of(golden);
  sampling_scratch scratch;
  const auto [status, found] = chooses.distribution(logits, history, scratch);
  BOOST_REQUIRE(status == sampling_status::ok);

  auto kept = json::value_to<std::vector<token>>(golden.at("kept"));
  auto probabilities = json::value_to<std::vector<double>>(golden.at("probabilities"));
  std::size_t next = 0;
  double worst = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const bool present = next < found.size() && found[next].id == kept[i];
    if (!present) BOOST_REQUIRE_LT(probabilities[i], 1e-37);
    worst = std::max(worst, std::abs(probabilities[i] - (present ? found[next++].probability : 0)));
  }
  BOOST_TEST(next == found.size());
  BOOST_TEST(worst < 1e-6);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_goldens)

BOOST_AUTO_TEST_CASE(processors_keep_what_transformers_keeps_with_the_same_probabilities) {
  const auto file = goldens();
  std::size_t checked = 0;
  for (const auto& golden : file.at("cases").as_array()) {
    const auto& fields = golden.as_object();
    BOOST_TEST_CONTEXT(fields.at("logits") << " " << fields.at("sampling")) {
      check(fields, logits_of(file.at("logits").at(fields.at("logits").as_string())));
    }
    ++checked;
  }
  BOOST_TEST(checked >= 150U);
}

BOOST_AUTO_TEST_SUITE_END()
