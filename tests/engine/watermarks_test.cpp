// Requests that may become long, beside each other in memory for the whole length of two.
#include "kept_engines.hpp"

#include <cogen/policy.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

constexpr int requests = 5;

engine_options crowded(const kept_engine& base) {
  auto options = base.options();
  options.limits.max_sequence_length = std::min(*options.limits.max_sequence_length, 140);
  options.batching.slots = requests;
  options.kv.bytes = 2 * cache_like(*golden_model(base.golden), options).footprint(*options.limits.max_sequence_length);
  return options;
}

struct outcome {
  std::vector<std::vector<token>> answers;
  engine_stats stats;
};

std::vector<token> prompt_of(const model& model, unsigned i) { return some_tokens(model, 40 + static_cast<int>(i), i); }

outcome answered(const std::shared_ptr<const model>& model, const engine_options& options, int answer) {
  engine running(model, options);
  net::io_context context;
  outcome result{std::vector<std::vector<token>>(requests), {}};
  std::vector<token_stream> streams;
  for (unsigned i = 0; i < requests; ++i) {
    auto wanted = request{.prompt = token_ids(prompt_of(*model, i)), .max_tokens = answer, .ignore_eos = true};
    if (model->has_encoder()) wanted.encoder_input = source_for(*model, i);
    streams.push_back(running.generate(wanted));
    streams[i].async_complete(net::bind_executor(context, [&result, i](error_code code, completion whole) {
      BOOST_TEST(!code);
      for (const auto& choice : whole.tokens) result.answers[i].push_back(choice.id);
    }));
  }
  settle(running, context);
  result.stats = running.stats();
  return result;
}

}  // namespace

BOOST_DATA_TEST_CASE(requests_grow_into_the_memory_that_there_is, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  auto options = crowded(each);
  const int answer = *options.limits.max_sequence_length - 45;
  const auto whole = answered(model, options, answer);
  options.policies.allocation = [] { return scheduler::watermarks({.high = 1, .low = 0.8, .step = 16}); };
  const auto grown = answered(model, options, answer);
  for (unsigned i = 0; i < requests; ++i) {
    const auto alone = loop_by_hand(*model, options, prompt_of(*model, i), answer, i);
    BOOST_TEST(whole.answers[i] == alone, boost::test_tools::per_element());
    BOOST_TEST(grown.answers[i] == alone, boost::test_tools::per_element());
  }
  BOOST_TEST(whole.stats.preempted == 0u);
  const bool begins_small = 3 * cache_like(*model, options).footprint(64) <= *options.kv.bytes;
  BOOST_TEST(grown.stats.peak_rows >= whole.stats.peak_rows + begins_small);
  BOOST_TEST(grown.stats.peak_cache_bytes <= *options.kv.bytes);
  BOOST_TEST(grown.stats.free_slots == requests);
  BOOST_TEST_MESSAGE(each << ": " << whole.stats.peak_rows << " beside each other, and " << grown.stats.peak_rows
                          << " that grow, preempted " << grown.stats.preempted << " times; steps " << whole.stats.steps
                          << " and " << grown.stats.steps);
}

BOOST_AUTO_TEST_CASE(a_factory_that_makes_no_reservation_is_refused) {
  auto options = tiny_engine();
  options.policies.allocation = [] { return std::unique_ptr<scheduler::allocation_policy>(); };
  BOOST_CHECK_EXCEPTION(engine(golden_model("llama_default"), options), std::invalid_argument, [](const auto& error) {
    return std::string(error.what()) == "engine_options.policies.allocation made no policy";
  });
}

}  // namespace cogen::test
