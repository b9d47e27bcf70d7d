#include "engine/toy_runner.hpp"

#include <cogen/decoding/guidance.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(guidance_strategy)

const std::vector<token> prompt{3, 1, 4, 1, 5}, negative{2, 7, 1};
constexpr int length = 12;
const toy_setup wide{.slots = 8, .max_batched_tokens = 64};

request asked(double temperature = 0) {
  return {.prompt = token_ids(prompt), .max_tokens = length, .sampling = {.temperature = temperature, .seed = 5}};
}

std::vector<token> read(toy_engine& toy, token_stream stream) {
  net::io_context context;
  std::vector<token> ids;
  stream.async_complete(net::bind_executor(context, [&](error_code code, const completion& whole) {
    BOOST_TEST(!code, stream.error().message());
    ids = ids_of(whole.tokens);
  }));
  toy.settle(context);
  return ids;
}

std::vector<token> guided(request request, guidance_params params) {
  toy_engine toy(wide);
  auto found = read(toy, toy.running.generate(std::move(request), cogen::guidance(std::move(params))));
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
  return found;
}

std::vector<float> log_softmax(std::vector<float> row) {
  double sum = 0;
  for (const float each : row) sum += std::exp(static_cast<double>(each));
  for (float& each : row) each -= static_cast<float>(std::log(sum));
  return row;
}

/// The greedy tokens, computed from the definition.
std::vector<token> expected(float scale, std::vector<token> after, std::vector<token> away_from) {
  std::vector<token> result;
  for (int i = 0; i < length; ++i) {
    auto row = log_softmax(toy_scores(after));
    const auto other = log_softmax(toy_scores(away_from));
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = scale * (row[k] - other[k]) + other[k];
    result.push_back(static_cast<token>(std::ranges::max_element(row) - row.begin()));
    after.push_back(result.back());
    away_from.push_back(result.back());
  }
  return result;
}

BOOST_AUTO_TEST_CASE(each_token_is_the_best_of_the_guided_row) {
  for (const double scale : {0.3, 1.5, -1.0}) {
    BOOST_TEST(guided(asked(), {scale, negative}) == expected(static_cast<float>(scale), prompt, negative),
               boost::test_tools::per_element());
    BOOST_TEST(guided(asked(), {scale, {}}) == expected(static_cast<float>(scale), prompt, {prompt.back()}),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_scale_of_1_changes_nothing_at_any_temperature) {
  for (const double temperature : {0.0, 1.0, 4.0}) {
    toy_engine toy(wide);
    BOOST_TEST(guided(asked(temperature), {1.0, negative}) == read(toy, toy.running.generate(asked(temperature))),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(both_sides_run_in_one_batch) {
  toy_engine toy(wide);
  read(toy, toy.running.generate(asked(), cogen::guidance({1.5, negative})));
  BOOST_TEST(toy.control->batches.size() == static_cast<std::size_t>(length));
  BOOST_TEST(toy.control->tokens == std::ssize(prompt) + std::ssize(negative) + 2 * (length - 1));
}

BOOST_AUTO_TEST_CASE(it_runs_no_further_ahead_of_its_reader_than_the_request_allows) {
  for (const int most : {0, 1, 3}) {
    toy_engine toy(wide);
    auto request = asked();
    request.max_buffered_tokens = most;
    auto stream = toy.running.generate(std::move(request), cogen::guidance({1.5, negative}));
    net::io_context context;
    toy.settle(context);
    BOOST_TEST(stream.usage().generated_tokens == most);
    std::vector<token> read;
    while (read.size() < static_cast<std::size_t>(length)) {
      const auto size = read.size();
      stream.async_next(net::bind_executor(context, [&](error_code, std::optional<piece> piece) {
        for (const auto& each : piece->tokens) read.push_back(each.id);
      }));
      toy.settle(context);
      BOOST_REQUIRE(read.size() > size);
      BOOST_TEST(stream.usage().generated_tokens <= static_cast<int>(read.size()) + most);
    }
    BOOST_TEST(read == expected(1.5F, prompt, negative), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_end_token_ends_it) {
  auto request = asked();
  const auto whole = expected(1.5F, prompt, negative);
  request.stop_token_ids = {whole[4]};
  const auto cut = std::ranges::find(whole, whole[4]) - whole.begin();
  BOOST_TEST(guided(request, {1.5, negative}).size() == static_cast<std::size_t>(cut));
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_frees_both_sides_at_once) {
  for (int rounds = 0; rounds < 6; ++rounds) {
    toy_engine toy(wide);
    std::optional stream(toy.running.generate(asked(), cogen::guidance({1.5, negative})));
    for (int i = 0; i < rounds; ++i) toy.running.poll_one();
    stream.reset();
    toy.running.poll_one();
    BOOST_TEST(toy.running.stats().free_slots == wide.slots);
    BOOST_TEST(toy.running.stats().sequences == 0);
  }
}

BOOST_AUTO_TEST_CASE(an_engine_that_ends_while_a_reader_is_slow_fails_the_stream) {
  net::io_context context;
  toy_engine toy(wide);
  auto request = asked();
  request.max_buffered_tokens = 2;
  auto stream = toy.running.generate(std::move(request), cogen::guidance({1.5, negative}));
  toy.settle(context);
  toy.running.stop();
  BOOST_CHECK(stream.error().code() == error::engine_stopped);
}

BOOST_AUTO_TEST_CASE(parameters_beyond_their_limits_are_refused_with_name_value_and_limit) {
  BOOST_CHECK_EXCEPTION(static_cast<void>(cogen::guidance({.guidance_scale = 101})), std::invalid_argument,
                        [](const auto& error) {
                          BOOST_TEST(error.what() == "guidance_scale is 101; it must be between -100 and 100");
                          return true;
                        });
  toy_engine toy(wide);
  auto stream = toy.running.generate(asked(), cogen::guidance({1.5, {97}}));
  net::io_context context;
  toy.settle(context);
  BOOST_TEST(stream.error().message() == "token 97 does not exist; the vocabulary ends at 96");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
