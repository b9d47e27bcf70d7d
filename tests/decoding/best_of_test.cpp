#include "engine/toy_runner.hpp"

#include <cogen/decoding/best_of.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(best_of_strategy)

const std::vector<token> prompt{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
constexpr int length = 12, count = 6;
const toy_setup wide{.slots = 8, .max_batched_tokens = 64};

request asked(std::uint64_t seed) {
  return {
      .prompt = token_ids(prompt), .max_tokens = length, .sampling = {.temperature = 3, .seed = seed, .logprobs = 0}};
}

struct sample {
  std::vector<token> tokens;
  double sum = 0;
  double score = 0;
};

sample read(toy_engine& toy, token_stream stream) {
  net::io_context context;
  sample result;
  stream.async_complete(net::bind_executor(context, [&](error_code code, const completion& whole) {
    BOOST_TEST(!code, stream.error().message());
    result.tokens = ids_of(whole.tokens);
    for (const auto& each : whole.tokens) result.sum += each.logprob;
  }));
  toy.settle(context);
  result.score = stream.score().value_or(0);
  return result;
}

/// Those that the forks of one sequence sample, each by itself.
std::vector<sample> samples(std::uint64_t seed) {
  toy_engine toy(wide);
  std::vector<sample> result;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto root = toy.running.open();
    co_await root.async_forward({prompt.begin(), prompt.end() - 1});
    for (int i = 0; i < count; ++i) {
      // NOLINTNEXTLINE(bugprone-use-after-move): the last one is moved
      auto fork = i + 1 < count ? root.fork() : std::move(root);
      sample draw;
      for (int k = 0; k < length; ++k) {
        const auto next = co_await fork.async_decode(k == 0 ? std::vector{prompt.back()} : std::vector<token>(),
                                                     asked(seed).sampling);
        draw.tokens.push_back(next.id);
        draw.sum += next.logprob;
      }
      result.push_back(draw);
    }
  });
  return result;
}

BOOST_DATA_TEST_CASE(the_sample_with_the_best_score_is_given, data::make({false, true}) * data::xrange(5), by_sum,
                     seed) {
  const auto score = by_sum ? best_of_score::sum_logprob : best_of_score::mean_logprob;
  const auto candidates = samples(static_cast<std::uint64_t>(seed));
  const auto best = std::ranges::max_element(candidates, {}, &sample::sum);
  toy_engine toy(wide);
  auto stream =
      toy.running.generate(asked(static_cast<std::uint64_t>(seed)), cogen::best_of({.n = count, .score = score}));
  const auto found = read(toy, std::move(stream));
  BOOST_TEST(found.tokens == best->tokens, boost::test_tools::per_element());
  const double expected = by_sum ? best->sum : best->sum / length;
  BOOST_TEST(std::abs(found.score - expected) < 1e-5);
  BOOST_TEST(toy.control->tokens == std::ssize(prompt) - 1 + count * length);
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
}

/// What best_of() gives, and how many tokens were run, if the first token after the prompt ends a sample.
std::pair<sample, int> with_an_early_end(best_of_score score) {
  toy_engine toy(wide);
  auto request = asked(1);
  request.sampling.temperature = 1.5;
  request.stop_token_ids = {toy_next(prompt)};
  auto stream = toy.running.generate(std::move(request), cogen::best_of({.n = count, .score = score}));
  auto found = read(toy, std::move(stream));
  return {found, toy.control->tokens};
}

BOOST_AUTO_TEST_CASE(samples_that_can_no_longer_win_leave_the_batch) {
  const auto [found, run] = with_an_early_end(best_of_score::sum_logprob);
  BOOST_TEST(found.tokens.empty());
  BOOST_TEST(found.score < 0);
  BOOST_TEST(run <= std::ssize(prompt) - 1 + 4 * count);
}

BOOST_AUTO_TEST_CASE(what_it_does_not_do_is_refused_by_name) {
  const auto why_not = [](auto change) {
    toy_engine toy(wide);
    auto request = asked(1);
    change(request);
    auto stream = toy.running.generate(std::move(request), cogen::best_of());
    net::io_context context;
    toy.settle(context);
    return stream.error().message();
  };
  BOOST_TEST(why_not([](request& request) { request.sampling.temperature = 0; }) ==
             "temperature is 0; best_of samples, so it must be above 0");
  BOOST_TEST(why_not([](request& request) { request.sampling.logprobs_mode = logprobs_mode::processed; }) ==
             "logprobs_mode is processed; best_of ranks by the model's own distribution, so it must be raw");
  BOOST_TEST(why_not([](request& request) { request.stop = {"a"}; }) ==
             "stop has 1 texts; best_of ends samples by stop_token_ids alone");
  const auto refused = [](const best_of_params& params) {
    try {
      params.validate();
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  BOOST_TEST(refused({.n = 0}) == "n is 0; it must be between 1 and 256");
  BOOST_TEST(refused({.n = 257}) == "n is 257; it must be between 1 and 256");
  BOOST_TEST(refused({.score = static_cast<best_of_score>(2)}) ==
             "score is 2; it may be mean_logprob (0) or sum_logprob (1)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
