#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <future>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(threads)

// One thread's life: opens, reads, cancels, stops, forks and drops, as its own random numbers say.
void live(engine& running, int seed, std::atomic<int>& wrong) {
  std::minstd_rand random(static_cast<unsigned>(seed + 1));
  for (int i = 0; i < 6; ++i) {
    const std::vector<token> prompt{static_cast<token>(random() % 90), static_cast<token>(seed % 90)};
    auto stream = running.generate(
        {.prompt = token_ids(prompt), .max_tokens = 12, .max_buffered_tokens = static_cast<int>(random() % 5)});
    switch (random() % 5) {
      case 0:
        if (ids_of(stream.async_complete(net::use_future).get().tokens) != toy_continuation(prompt, 12)) ++wrong;
        break;
      case 1:
        stream.async_next(net::use_future).get();
        stream.stop();
        stream.async_complete(net::use_future).get();
        break;
      case 2: {
        net::io_context context;
        net::cancellation_signal signal;
        for (int waits = 0; waits < 3; ++waits)
          stream.async_next(net::bind_cancellation_slot(
              signal.slot(), net::bind_executor(context, [](error_code, std::optional<piece>) {})));
        context.poll();
        signal.emit(net::cancellation_type::total);
        context.restart();
        context.run();
        break;
      }
      case 3: {
        auto sequence = running.open();
        const auto scores = sequence.async_forward(prompt, logits_of::last, net::use_future).get();
        auto child = sequence.fork();
        auto pending = child.async_decode({}, {}, net::use_future);
        if (sequence.async_decode({}, {}, net::use_future).get().id != toy_next(prompt)) ++wrong;
        if (random() % 2 == 0 && pending.get().id != toy_next(prompt)) ++wrong;
        break;
      }
      default:
        break;  // dropped unread
    }
  }
}

BOOST_AUTO_TEST_CASE(a_hundred_threads_open_cancel_and_destroy) {
  toy_engine toy({.slots = 220}, {});  // each thread holds two at most, one of them while it waits for the other
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) threads.emplace_back([&, i] { live(toy.running, i, wrong); });
  for (auto& each : threads) each.join();
  BOOST_TEST(wrong.load() == 0);
  auto last = toy.running.generate({.prompt = token_ids{1}, .max_tokens = 2});
  last.async_complete(net::use_future).get();
  while (toy.running.stats().sequences > 0) std::this_thread::yield();
  BOOST_TEST(toy.running.stats().free_slots == 220);
}

/// Runs no step.
class starting_runner final : public runner {
 public:
  explicit starting_runner(std::function<void()> start) : start_(std::move(start)) {}
  int vocabulary() const override { return toy_vocabulary; }
  void start() override { start_(); }
  void launch(step& step) override { step.done(); }

 private:
  const std::function<void()> start_;
};

engine engine_that_starts(std::function<void()> start, bool external_stepping) {
  engine_parts parts;
  parts.runner = std::make_unique<starting_runner>(std::move(start));
  parts.limits.slots = 1;
  return engine(std::move(parts), {.external_stepping = external_stepping});
}

void fail_to_start() { throw std::runtime_error("no memory for steps"); }

BOOST_AUTO_TEST_CASE(a_runner_starts_on_the_thread_of_the_steps_before_the_engine_is_there) {
  std::vector<std::thread::id> started;
  const auto own = engine_that_starts([&] { started.push_back(std::this_thread::get_id()); }, false);
  BOOST_REQUIRE_EQUAL(started.size(), 1u);
  BOOST_TEST((started.front() != std::this_thread::get_id()));
  BOOST_CHECK_EXCEPTION(engine_that_starts(fail_to_start, false), std::runtime_error,
                        [](const auto& error) { return error.what() == std::string("no memory for steps"); });
}

BOOST_AUTO_TEST_CASE(with_external_stepping_a_runner_starts_at_the_first_poll) {
  int started = 0;
  auto running = engine_that_starts([&] { ++started; }, true);
  BOOST_TEST(started == 0);
  for (int i = 0; i < 3; ++i) running.poll_one();
  BOOST_TEST(started == 1);
  auto failing = engine_that_starts(fail_to_start, true);
  failing.poll_one();
  BOOST_TEST(failing.error().message() == "a step failed: no memory for steps");
}

// Each is what the sequence holds at some time, and no token of it changes while it is cut and goes on otherwise.
BOOST_AUTO_TEST_CASE(tokens_are_read_while_a_sequence_and_its_fork_are_cut_and_go_on) {
  toy_engine toy({.slots = 4}, {});
  auto sequence = toy.running.open();
  sequence.async_forward({1, 2, 3}, logits_of::last, net::use_future).get();
  auto child = sequence.fork();
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::thread reader([&] {
    while (!done.load())
      for (const auto* each : {&sequence, &child}) {
        const auto held = each->tokens();
        for (std::size_t i = 3; i < held.size(); ++i)
          if (held[i] != toy_next(std::span(held).first(i)) && held[i] < 90) ++wrong;
        if (held.size() < 3 || held[0] != 1 || held[2] != 3) ++wrong;
      }
  });
  for (token round = 0; round < 200; ++round) {
    sequence.truncate(3 + round % 2);
    child.truncate(3);
    sequence.async_decode({90 + round % 5}, {}, net::use_future).get();
    auto other = child.async_decode({90 + round % 7}, {}, net::use_future);
    for (int i = 0; i < 8; ++i) sequence.async_decode({}, {}, net::use_future).get();
    BOOST_TEST(other.get().id == toy_next(std::vector<token>{1, 2, 3, 90 + round % 7}));
  }
  done = true;
  reader.join();
  BOOST_TEST(wrong.load() == 0);
  BOOST_TEST(sequence.tokens().size() == 14U);
}

BOOST_AUTO_TEST_CASE(the_engine_is_destroyed_while_threads_use_its_handles) {
  for (int round = 0; round < 20; ++round) {
    auto toy = std::make_unique<toy_engine>(toy_setup{.slots = 3}, engine_options());
    std::vector<std::thread> threads;
    std::atomic<int> ready = 0;
    for (int i = 0; i < 6; ++i) {
      auto stream = std::make_shared<token_stream>(toy->running.generate({.prompt = token_ids{i}, .max_tokens = 50}));
      threads.emplace_back([stream, &ready] {
        net::io_context context;
        bool going = true;
        ++ready;
        while (going) {
          stream->async_next(
              net::bind_executor(context, [&](error_code, std::optional<piece> next) { going = next.has_value(); }));
          context.restart();
          context.run();
        }
      });
    }
    while (ready.load() < 6) std::this_thread::yield();
    toy.reset();
    for (auto& each : threads) each.join();
  }
}

BOOST_AUTO_TEST_CASE(coroutines_on_several_threads_each_get_their_own_stream) {
  toy_engine toy({.slots = 4}, {});
  net::thread_pool pool(4);
  std::vector<std::future<std::vector<token>>> results;
  for (token first = 0; first < 40; ++first)
    results.push_back(net::co_spawn(
        pool,
        [&toy, first]() -> net::awaitable<std::vector<token>> {
          auto stream =
              toy.running.generate({.prompt = token_ids{first}, .max_tokens = 15, .max_buffered_tokens = first % 4});
          std::vector<token> read;
          while (auto next = co_await stream.async_next())
            for (const auto& each : next->tokens) read.push_back(each.id);
          co_return read;
        },
        net::use_future));
  for (token first = 0; first < 40; ++first)
    BOOST_TEST(results[static_cast<std::size_t>(first)].get() == toy_continuation({first}, 15),
               boost::test_tools::per_element());
  pool.join();
}

/// Keeps the threads that tokenize long prompts busy until it is destroyed.
class busy_workers {
 public:
  busy_workers() {
    const unsigned threads = 2 * std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < threads; ++i) net::post(net::system_executor(), [gate = gate_] { gate->wait(); });
  }
  ~busy_workers() { open_.set_value(); }

 private:
  std::promise<void> open_;
  std::shared_ptr<std::shared_future<void>> gate_ = std::make_shared<std::shared_future<void>>(open_.get_future());
};

/// Lets the engine's thread look at its clock.
void nudge(engine& running) {
  std::promise<void> ran;
  net::post(running.get_executor(), [&ran] { ran.set_value(); });
  ran.get_future().get();
}

/// Waits on this thread until the stream has ended and been read.
completion read_to_end(token_stream& stream) {
  net::io_context context;
  completion read;
  stream.async_complete(net::bind_executor(context, [&](error_code, completion answer) { read = std::move(answer); }));
  context.run();
  return read;
}

BOOST_AUTO_TEST_CASE(limits_of_time_pass_while_a_prompt_is_still_tokenized) {
  toy_engine toy({}, {.limits = {.max_waiting = 4}});
  const std::string long_prompt(20'000, 'a');
  std::vector<token_stream> left;
  {
    const busy_workers busy;
    net::io_context context;
    auto late = toy.running.generate({.prompt = long_prompt, .start_within = std::chrono::seconds(1)});
    auto over = toy.running.generate({.prompt = long_prompt, .finish_within = std::chrono::seconds(2)});
    auto stopped = toy.running.generate({.prompt = long_prompt});
    auto waited = toy.running.generate({.prompt = long_prompt});
    stopped.stop();
    BOOST_CHECK(read_to_end(stopped).reason == finish_reason::aborted);
    error_code soon;
    waited.async_next_for(std::chrono::seconds(1),
                          net::bind_executor(context, [&](error_code code, auto) { soon = code; }));
    nudge(toy.running);
    toy.time->advance(std::chrono::seconds(1));
    nudge(toy.running);
    read_to_end(late);
    BOOST_CHECK_EQUAL(late.error().code(), make_error_code(error::deadline_exceeded));
    BOOST_TEST(late.error().message().find("its prompt to be tokenized") != std::string::npos);
    context.run();
    BOOST_CHECK_EQUAL(soon, make_error_code(error::timed_out));
    BOOST_TEST(!waited.ended());
    BOOST_TEST(!over.ended());
    toy.time->advance(std::chrono::seconds(1));
    nudge(toy.running);
    BOOST_CHECK(read_to_end(over).reason == finish_reason::deadline_exceeded);
    BOOST_TEST(toy.running.stats().queued == 1);
    for (auto* stream : {&late, &over, &stopped, &waited}) left.push_back(std::move(*stream));
  }
  // Now it is, and refused, since the engine has no tokenizer.
  read_to_end(left.back());
  BOOST_CHECK_EQUAL(left.back().error().code(), make_error_code(error::invalid_request));
  BOOST_TEST(toy.running.stats().queued == 0);
  BOOST_TEST(toy.running.stats().steps == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
