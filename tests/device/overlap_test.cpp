// What the host needs of a step besides its sampled tokens: the steps of others overlap meanwhile.
#include "../engine/model_engines.hpp"
#include "../repetitions.hpp"
#include "device_models.hpp"
#include "network/backend/reference/reference_operators.hpp"
#include "plain_backend.hpp"

#include <cogen/detail/sampling_batch.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

engine_options small_engine(const model& model) {
  auto options = tiny_engine(model);
  options.kv.dtype.reset();
  return options;
}

/// What a request or a sequence got.
struct received {
  std::vector<token> tokens;
  std::vector<float> numbers;  ///< logits, or log-probabilities of the prompt

  void add(const logits& more) {
    for (int row = 0; row < more.rows(); ++row) numbers.insert(numbers.end(), more[row].begin(), more[row].end());
  }
};

net::awaitable<void> generate(engine& running, request wanted, received& output) {
  const auto alternatives = static_cast<std::size_t>(wanted.sampling.logprobs.value_or(0));
  const auto tokens = static_cast<std::size_t>(wanted.max_tokens.value());
  auto stream = running.generate(std::move(wanted));
  for (const auto& each : (co_await stream.async_complete()).tokens) {
    output.tokens.push_back(each.id);
    BOOST_TEST(each.top.size() == alternatives);
  }
  BOOST_TEST(output.tokens.size() == tokens);
  for (const auto& each : stream.prompt_logprobs()) {
    output.numbers.push_back(each.logprob);
    for (const auto& other : each.top) output.numbers.push_back(other.logprob);
  }
}

net::awaitable<void> read_last(engine& running, const model& model, received& output) {
  auto sequence = running.open();
  for (unsigned i = 0; i < 10; ++i) output.add(co_await sequence.async_forward(some_tokens(model, 1 + i % 3, i)));
}

net::awaitable<void> read_all(engine& running, const model& model, received& output) {
  auto sequence = running.open();
  for (unsigned i = 0; i < 4; ++i)
    output.add(co_await sequence.async_forward(some_tokens(model, 30, i), logits_of::all));
}

net::awaitable<void> sample_with(engine& running, const model& model, sampling_params params, received& output) {
  return generate(running,
                  {.prompt = token_ids(some_tokens(model, 9, 3)),
                   .max_tokens = 20,
                   .sampling = std::move(params),
                   .ignore_eos = true},
                  output);
}

net::awaitable<void> score(engine& running, const model& model, received& output) {
  return generate(running,
                  {.prompt = token_ids(some_tokens(model, 180, 4)),
                   .max_tokens = 3,
                   .sampling = {.temperature = 1.5, .seed = 4},
                   .ignore_eos = true,
                   .prompt_logprobs = 3},
                  output);
}

/// What is wanted beside a request that samples as usual.
struct extra {
  std::string name;
  std::function<net::awaitable<void>(engine&, const model&, received&)> run;

  friend std::ostream& operator<<(std::ostream& out, const extra& item) { return out << item.name; }
};

extra sampled(std::string name, sampling_params params) {
  return {std::move(name), [params](engine& running, const model& model, received& output) {
            return sample_with(running, model, params, output);
          }};
}

const std::vector<extra> extras{
    sampled("tokens", {.temperature = 1, .seed = 1}),
    sampled("log-probabilities", {.logprobs = 7}),
    sampled("processed log-probabilities",
            {.temperature = 1, .seed = 3, .logprobs = 7, .logprobs_mode = logprobs_mode::processed}),
    sampled("a processor",
            {.temperature = 2, .seed = 6, .logprobs = 7, .processor = [](auto, auto scores) { scores[3] += 2; }}),
    {"logits of the last token", read_last},
    {"logits of all tokens", read_all},
    {"log-probabilities of a prompt", score}};

/// Runs them all at once.
std::vector<received> run_all(engine& running, const model& model, bool external_stepping = true) {
  std::vector<received> results(extras.size());
  net::io_context context;
  for (std::size_t i = 0; i < extras.size(); ++i)
    net::co_spawn(context, extras[i].run(running, model, results[i]), [](std::exception_ptr error) {
      if (error) std::rethrow_exception(error);
    });
  if (external_stepping)
    settle(running, context);
  else
    context.run();
  return results;
}

void check_near(const std::vector<float>& numbers, const std::vector<float>& expected) {
  BOOST_REQUIRE_EQUAL(numbers.size(), expected.size());
  float off = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) off = std::max(off, std::abs(numbers[i] - expected[i]));
  BOOST_TEST(off < 1e-3F);
}

void check_equal(const std::vector<received>& results, const std::vector<received>& expected) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    BOOST_TEST_CONTEXT(extras[i]) {
      BOOST_TEST(results[i].tokens == expected[i].tokens, boost::test_tools::per_element());
      BOOST_TEST(!(results[i].tokens.empty() && results[i].numbers.empty()));
      check_near(results[i].numbers, expected[i].numbers);
    }
  }
}

std::vector<received> results_of_processor() {
  const auto reference = golden_model("llama_default");
  engine running(reference, tiny_engine(*reference));
  return run_all(running, *reference);
}

BOOST_AUTO_TEST_SUITE(device_overlap)

BOOST_DATA_TEST_CASE(the_engine_waits_for_no_step, data::make(extras), what) {
  const auto where = std::make_shared<plain_backend>();
  int waits = 0;
  where->hook = [&](std::string_view call) { waits += call == "wait"; };
  const auto model = golden_model_on(where, "llama_default");
  engine running(model, small_engine(*model));
  running.poll_one();
  waits = 0;
  received output;
  drive(running, [&] { return what.run(running, *model, output); });
  BOOST_TEST(waits == 0);
}

/// The device ends a step after the engine had the time to launch three.
BOOST_DATA_TEST_CASE(steps_of_others_are_launched_before_the_last_one_has_ended, data::make(extras), what) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  engine running(model, small_engine(*model));
  running.poll_one();
  std::deque<std::function<void()>> held;
  where->later = [&](std::function<void()> end) { held.push_back(std::move(end)); };
  net::io_context context;
  auto other =
      running.generate({.prompt = token_ids(some_tokens(*model, 5, 9)), .max_tokens = 200, .ignore_eos = true});
  other.async_complete(net::bind_executor(context, [](error_code, const completion&) {}));
  received output;
  bool ended = false;
  int rounds = 0, overlapping = 0;
  const auto run_round = [&] {
    for (int i = 0; i < 3; ++i) running.poll_one();
    context.restart();
    context.poll();
    overlapping += held.size() == 2;
    ++rounds;
    if (held.empty()) return;
    const auto end = std::move(held.front());
    held.pop_front();
    end();
  };
  for (int i = 0; i < 4; ++i) run_round();  // until the other request decodes
  overlapping = rounds = 0;
  net::co_spawn(context, what.run(running, *model, output), [&](std::exception_ptr error) {
    ended = true;
    if (error) std::rethrow_exception(error);
  });
  while (!ended && rounds < 150) run_round();
  BOOST_TEST(ended);
  BOOST_TEST(rounds > 5);
  BOOST_TEST(overlapping == rounds);
  other.stop();
  while (!held.empty()) run_round();
}

/// At once, and on another thread while the engine's own launches.
BOOST_AUTO_TEST_CASE(results_are_those_of_the_processor) {
  const auto expected = results_of_processor();
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  auto options = small_engine(*model);
  check_equal(run_all(*std::make_unique<engine>(model, options), *model), expected);
  net::thread_pool device(1);
  where->later = [&](std::function<void()> end) { net::post(device, std::move(end)); };
  options.external_stepping = false;
  check_equal(run_all(*std::make_unique<engine>(model, options), *model, false), expected);
}

/// Where a step returns more logits than there is room for, it is divided.
BOOST_DATA_TEST_CASE(logits_of_all_tokens_come_over_several_steps, data::make({1, 20}), requests) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  const auto reference = golden_model("llama_default");
  auto options = small_engine(*model);
  options.batching.max_batched_tokens = 200;
  const auto tokens = some_tokens(*reference, 190, 5);
  received expected;
  {
    engine running(reference, tiny_engine(*reference));
    drive(running, [&]() -> net::awaitable<void> {
      auto sequence = running.open();
      expected.add(co_await sequence.async_forward(tokens, logits_of::all));
    });
  }
  engine running(model, options);
  net::io_context context;
  std::vector<received> results(static_cast<std::size_t>(requests));
  for (auto& each : results)
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
          auto sequence = running.open();
          each.add(co_await sequence.async_forward(tokens, logits_of::all));
        },
        [](std::exception_ptr error) {
          if (error) std::rethrow_exception(error);
        });
  settle(running, context);
  for (const auto& each : results) check_near(each.numbers, expected.numbers);
}

/// At every call of the device, while all of them run. None is left without an end.
BOOST_AUTO_TEST_CASE(an_error_of_the_device_ends_them_all) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  int died = 0;
  for (int failing = 1;; failing += failure_stride) {
    engine running(model, small_engine(*model));
    running.poll_one();
    int calls = 0, ended = 0, failed = 0;
    where->hook = [&](std::string_view) {
      if (++calls == failing) throw std::runtime_error("the device is gone");
    };
    net::io_context context;
    std::vector<received> results(extras.size());
    for (std::size_t i = 0; i < extras.size(); ++i)
      net::co_spawn(context, extras[i].run(running, *model, results[i]), [&](std::exception_ptr error) {
        ++ended;
        failed += error != nullptr;
      });
    settle(running, context);
    where->hook = {};
    BOOST_TEST(ended == static_cast<int>(extras.size()));
    BOOST_TEST((failed > 0) == (calls >= failing));
    if (failed == 0) break;
    ++died;
  }
  BOOST_TEST(died > 100 / failure_stride);
}

/// Has no numbers where a token of a prompt is scored.
class operators_without_scores final : public device::reference_operators {
 public:
  explicit operators_without_scores(token id) : id_(id) {}

  void sample(const at::Tensor& logits, const device::step_sampling& sampling, const at::Tensor& last,
              const device::step_samples& samples) override {
    for (std::int64_t row = 0; row < logits.size(0); ++row) {
      sampling_row described;
      std::memcpy(&described, sampling.rows.const_data_ptr<std::uint8_t>() + row * std::int64_t{sizeof(described)},
                  sizeof(described));
      if (described.scored == id_) logits.select(0, row).fill_(std::numeric_limits<float>::quiet_NaN());
    }
    reference_operators::sample(logits, sampling, last, samples);
  }

 private:
  const token id_;
};

class backend_without_scores final : public plain_backend {
 public:
  explicit backend_without_scores(token id) : id_(id) {}
  std::unique_ptr<device::operators> make_operators() const override {
    return std::make_unique<operators_without_scores>(id_);
  }

 private:
  const token id_;
};

BOOST_AUTO_TEST_CASE(a_token_that_cannot_be_scored_fails_its_request_alone) {
  const auto reference = golden_model("llama_default");
  const auto prompt = some_tokens(*reference, 40, 4);
  const auto model = golden_model_on(std::make_shared<backend_without_scores>(prompt[33]), "llama_default");
  engine running(model, small_engine(*model));
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::string> ends(2, "it has not ended");
  for (std::size_t i = 0; i < ends.size(); ++i) {
    request wanted{.prompt = token_ids(prompt), .max_tokens = 4, .ignore_eos = true};
    if (i == 1) wanted.prompt_logprobs = 2;
    streams.push_back(running.generate(std::move(wanted)));
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      ends[i] = code ? streams[i].error().message() : std::to_string(whole.tokens.size());
    }));
  }
  settle(running, context);
  BOOST_TEST(ends[0] == "4");
  BOOST_TEST(ends[1] == "a logit is NaN or plus infinity, so no token can be chosen");
  BOOST_TEST(!running.error());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
