// The rows of a step are sampled together, over all threads, and each as it would be alone.
#include "model_engines.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <span>
#include <thread>

namespace cogen::test {
namespace {

constexpr int streams = 6;
constexpr int count = 12;

request sampled_request(const model& source, int number) {
  return {.prompt = some_tokens(source, 5 + number, static_cast<unsigned>(number)),
          .max_tokens = count,
          .sampling = {.temperature = 0.9,
                       .top_p = 0.95,
                       .repetition_penalty = 1.1,
                       .frequency_penalty = 0.2,
                       .seed = static_cast<std::uint64_t>(number)},
          .ignore_eos = true};
}

std::vector<std::vector<token>> generated(engine& running, std::vector<request> wanted) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::vector<token>> ids(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    streams.push_back(running.generate(std::move(wanted[i])));
    streams[i].async_complete(net::bind_executor(context, [&ids, i](error_code code, const completion& whole) {
      BOOST_TEST(!code);
      for (const auto& each : whole.tokens) ids[i].push_back(each.id);
    }));
  }
  settle(running, context);
  return ids;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_stage)

BOOST_AUTO_TEST_CASE(rows_sampled_together_over_threads_get_the_tokens_they_get_alone) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  options.batching.slots = streams;
  options.threads = 3;
  std::vector<request> wanted;
  for (int i = 0; i < streams; ++i) wanted.push_back(sampled_request(*model, i));
  engine together(model, options);
  const auto ids = generated(together, wanted);
  options.threads = 1;
  for (int i = 0; i < streams; ++i) {
    engine alone(model, options);
    BOOST_TEST(ids[static_cast<std::size_t>(i)] == generated(alone, {sampled_request(*model, i)}).front(),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(processors_run_one_after_another_on_the_thread_that_steps) {
  const auto model = golden_model("llama_default");
  auto options = tiny_engine(*model);
  options.batching.slots = streams;
  options.threads = 3;
  std::vector<int> called;
  std::vector<request> wanted;
  for (int i = 0; i < streams; ++i) {
    wanted.push_back(sampled_request(*model, i));
    if (i % 2 == 0) continue;
    wanted.back().sampling.processor = [&called, i, here = std::this_thread::get_id()](auto, std::span<float> logits) {
      BOOST_TEST((std::this_thread::get_id() == here));
      called.push_back(i);
      for (auto& each : logits) each = -each;
    };
  }
  engine running(model, options);
  const auto ids = generated(running, wanted);
  BOOST_TEST(called.size() == static_cast<std::size_t>(streams / 2 * count));
  for (int i = 1; i < streams; i += 2) BOOST_TEST(std::count(called.begin(), called.end(), i) == count);
  wanted.clear();
  for (int i = 0; i < streams; ++i) wanted.push_back(sampled_request(*model, i));
  engine plain(model, options);
  const auto without = generated(plain, wanted);
  for (std::size_t i = 0; i < ids.size(); ++i) BOOST_TEST((ids[i] == without[i]) == (i % 2 == 0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
