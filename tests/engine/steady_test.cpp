// A step like the one before it allocates nothing: neither the engine nor those who read its tokens. What is handed to
// the reader and does not fit into the piece itself does take memory: text of more than fifteen bytes, logprobs.
#include "failing_memory.hpp"
#include "model_engines.hpp"
#include "text/small_tokenizer.hpp"

#include <cogen/extend/runner.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>

namespace cogen::test {
namespace {

/// The model says the same each time.
class mute_runner final : public runner {
 public:
  explicit mute_runner(int vocabulary) : scores_(static_cast<std::size_t>(vocabulary), 1) {}

  int vocabulary() const override { return static_cast<int>(scores_.size()); }
  void launch(step& step) override {
    for (std::size_t i = 0; i < step.rows.size(); ++i)
      if (step.rows[i].wanted == scheduler::output::sample) step.sample(i, scores_);
    step.done();
  }

 private:
  std::vector<float> scores_;
};

constexpr int readers = 5;
constexpr int warm = 70,
              steady = 40;  // steps: no list of a sequence's tokens grows in the steady ones, and no block ends

engine mute_engine(bool prefix_caching, std::shared_ptr<const text::tokenizer> tokenizer = nullptr) {
  engine_parts parts;
  parts.runner = std::make_unique<mute_runner>(tokenizer ? static_cast<int>(tokenizer->size()) : 97);
  parts.tokenizer = std::move(tokenizer);
  parts.limits.slots = parts.limits.spare_slots = readers;
  parts.limits.prefix_caching = prefix_caching;
  engine_options options;
  options.external_stepping = true;
  return engine(std::move(parts), std::move(options));
}

net::awaitable<void> read(token_stream stream, std::shared_ptr<int> tokens) {
  while (const auto piece = co_await stream.async_next()) *tokens += static_cast<int>(piece->tokens.size());
}

/// The engine and its readers, all driven within one call of poll().
class scene {
 public:
  explicit scene(engine& running) : running_(running) {}

  template <class Executor>
  void run(const Executor& where, const std::function<request(int)>& asked) {
    for (int i = 0; i < readers; ++i) {
      read_.push_back(std::make_shared<int>(0));
      net::co_spawn(where, read(running_.generate(asked(i)), read_.back()), net::detached);
    }
    net::co_spawn(context, go(), net::detached);
    context.poll();
    for (const auto& each : read_) BOOST_TEST(*each >= warm + steady - 1);
  }

  net::io_context context;
  long taken = -1;  ///< allocations of the steady steps

 private:
  net::awaitable<void> go() {
    for (int i = 0; i < warm; ++i) co_await step();
    const long previous = failing_memory::allocations();
    const auto rows = running_.stats().rows;
    for (int i = 0; i < steady; ++i) co_await step();
    taken = failing_memory::allocations() - previous;
    BOOST_TEST(running_.stats().rows - rows == steady * readers);
  }

  /// And whatever the readers have to do.
  net::awaitable<void> step() {
    running_.poll_one();
    for (int i = 0; i < 2 * readers; ++i) co_await net::post(net::use_awaitable);
  }

  engine& running_;
  std::vector<std::shared_ptr<int>> read_;  // tokens
};

request asked_with(int index, sampling_params params) {
  return {.prompt = token_ids{1 + index, 2}, .max_tokens = 1000, .sampling = std::move(params), .ignore_eos = true};
}

request asked(int index) { return asked_with(index, {}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(steady_steps)

BOOST_AUTO_TEST_CASE(readers_take_no_memory) {
  for (const bool prefix_caching : {false, true}) {
    auto running = mute_engine(prefix_caching);
    scene steps(running);
    steps.run(steps.context.get_executor(), asked);
    BOOST_TEST(steps.taken == 0);
  }
}

BOOST_AUTO_TEST_CASE(nor_do_those_that_are_read_token_by_token) {
  auto running = mute_engine(true);
  scene steps(running);
  steps.run(steps.context.get_executor(), [](int index) {
    auto wanted = asked(index);
    wanted.max_buffered_tokens = 0;
    return wanted;
  });
  BOOST_TEST(steps.taken == 0);
}

BOOST_AUTO_TEST_CASE(nor_do_those_that_sample_at_random) {
  auto running = mute_engine(true);
  const auto params = sampling_params{.temperature = 0.8, .top_p = 0.9, .seed = 1};
  scene steps(running);
  steps.run(steps.context.get_executor(), [&](int index) { return asked_with(index, params); });
  BOOST_TEST(steps.taken == 0);
}

/// "aa", and so on.
merge_list doubled(int times) {
  merge_list merges;
  for (std::string half = "a"; times > 0; --times, half += half) merges.emplace_back(half, half);
  return merges;
}

BOOST_AUTO_TEST_CASE(nor_does_text_that_fits_into_its_string) {
  const auto tokenizer = std::make_shared<const text::tokenizer>(small_tokenizer(doubled(4)));
  for (const int bytes : {1, 8, 16}) {
    auto running = mute_engine(true, tokenizer);
    const auto said = tokenizer->find(std::string(static_cast<std::size_t>(bytes), 'a')).value();
    scene steps(running);
    steps.run(steps.context.get_executor(), [&](int index) { return asked_with(index, {.logit_bias = {{said, 50}}}); });
    BOOST_TEST((steps.taken == 0) == (bytes < 16));
  }
}

/// But for three blocks a step, however many the readers are: Asio keeps its handlers' memory for one call of poll(),
/// and this makes one each time.
BOOST_AUTO_TEST_CASE(readers_on_the_engines_executor_take_what_asio_does) {
  auto running = mute_engine(true);
  scene steps(running);
  steps.run(running.get_executor(), asked);
  BOOST_TEST(steps.taken <= 3 * steady);
}

BOOST_AUTO_TEST_CASE(nor_does_a_model) {
  const auto model = golden_model("llama_llama3");
  auto options = tiny_engine(*model);
  options.batching.slots = readers;
  engine running(model, std::move(options));
  scene steps(running);
  steps.run(steps.context.get_executor(), asked);
  BOOST_TEST(steps.taken == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
