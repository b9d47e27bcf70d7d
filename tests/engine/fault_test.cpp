// One scripted history, in which everything that can fail does so in turn: each allocation, each step.
#include "account.hpp"
#include "failing_memory.hpp"
#include "toy_runner.hpp"

#include <cogen/metrics.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <sstream>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(faults)

/// Two readers, one who gathers and sees how much of the prompt has been read, a sequence with a fork, a wait that is
/// cancelled: everything an engine is asked for.
class history {
 public:
  void run(toy_engine& toy) {
    open(toy);
    for (int round = 0; round < 40; ++round) {
      if (round == 3) start(waiter, [&] { wait(); });
      if (round == 4) signal_.emit(net::cancellation_type::partial);
      if (round == 6) start(worker, [&] { feed(); });
      if (round == 14) start(worker, [&] { branch(); });
      if (round == 20 && waited_) waited_->stop();
      if (round == 24 && first_) first_.reset();
      go(toy);
    }
  }

  /// Lets go of every handle and lets the engine find out.
  void leave(toy_engine& toy) {
    first_.reset(), two_.reset(), waited_.reset(), work_.reset(), branch_.reset();
    for (int i = 0; i < 4; ++i) go(toy);
  }

  account reader, gatherer, watcher, waiter, worker, fork;
  static inline const std::vector<token> prompt{3, 1}, long_prompt = std::vector<token>(19, 5);

 private:
  void open(toy_engine& toy) {
    start(reader, [&] {
      first_.emplace(toy.running.generate({.prompt = token_ids(prompt), .max_tokens = 30, .max_buffered_tokens = 3}));
      next();
    });
    start(gatherer, [&] {
      two_.emplace(toy.running.generate({.prompt = token_ids(long_prompt), .max_tokens = 9, .max_buffered_tokens = 2}));
      two_->async_complete(net::bind_executor(context_, [this](error_code, completion answer) {
        ++gatherer.received;
        gatherer.read(answer.tokens);
      }));
    });
    start(watcher, [&] { watch(); });
    start(waiter, [&] { waited_.emplace(toy.running.generate({.prompt = token_ids{7}, .max_buffered_tokens = 1})); });
    waiter.begun = 0;
    try {
      work_.emplace(toy.running.open());
    } catch (const std::bad_alloc&) {
    }
  }

  void next() {
    first_->async_next(net::bind_executor(context_, [this](error_code, std::optional<piece> piece) {
      ++reader.received;
      reader.read(piece);
      if (piece && first_) start(reader, [&] { next(); });
    }));
  }

  void watch() {
    if (!two_) throw std::bad_alloc();
    two_->async_prompt_progress(
        net::bind_executor(context_, [this](error_code, std::optional<prompt_progress> progress) {
          ++watcher.received;
          if (progress) start(watcher, [&] { watch(); });
        }));
  }

  void wait() {
    if (!waited_) throw std::bad_alloc();
    waited_->async_next_for(
        std::chrono::seconds(1),
        net::bind_cancellation_slot(signal_.slot(),
                                    net::bind_executor(context_, [this](auto, auto) { ++waiter.received; })));
  }

  void feed() {
    if (!work_) throw std::bad_alloc();
    work_->async_forward({1, 2, 3}, logits_of::all,
                         net::bind_executor(context_, [this](error_code, logits) { ++worker.received; }));
  }

  void branch() {
    if (!work_) throw std::bad_alloc();
    branch_.emplace(work_->fork());
    start(fork, [&] {
      branch_->async_decode({}, sampling_params{},
                            net::bind_executor(context_, [this](error_code, sampled_token) { ++fork.received; }));
    });
    work_->truncate(1);
    work_->async_decode({4}, sampling_params{},
                        net::bind_executor(context_, [this](error_code code, sampled_token choice) {
                          ++worker.received;
                          if (!code) worker.tokens[static_cast<std::size_t>(worker.count++)] = choice.id;
                        }));
  }

  void go(toy_engine& toy) {
    try {
      toy.running.poll_one();
    } catch (const std::bad_alloc&) {  // out of a handler of our own
    }
    context_.restart();
    context_.poll();
  }

  net::io_context context_;
  net::cancellation_signal signal_;
  std::optional<token_stream> first_, two_, waited_;
  std::optional<sequence> work_, branch_;
};

/// Whatever failed: each client got a result, and none a wrong one, nothing is held, and the engine either goes on
/// or says that it is dead.
void check(const history& past, toy_engine& toy) {
  for (const auto* each : {&past.reader, &past.gatherer, &past.watcher, &past.waiter, &past.worker, &past.fork})
    BOOST_TEST(each->received == each->begun);
  check_prefix(past.reader, toy_continuation(history::prompt, 30));
  check_prefix(past.gatherer, toy_continuation(history::long_prompt, 9));
  if (past.worker.count > 0) BOOST_TEST(past.worker.tokens[0] == toy_next(std::vector<token>{1, 4}));
  if (toy.running.error()) return;
  BOOST_TEST(toy.running.stats().sequences == 0);
  BOOST_TEST(toy.running.stats().free_slots == 4);
  net::io_context context;
  std::optional<completion> whole;
  auto stream = toy.running.generate({.prompt = token_ids{2, 2}, .max_tokens = 5});
  stream.async_complete(net::bind_executor(context, [&](error_code, completion result) { whole = std::move(result); }));
  toy.settle(context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(ids_of(whole->tokens) == toy_continuation({2, 2}, 5), boost::test_tools::per_element());
}

/// Returns whether the history met the n-th allocation, and whether the engine lived on.
struct trial {
  bool met = false;
  bool lived = false;
};

trial with_memory_refused(long n, std::shared_ptr<event_sink> events = nullptr) {
  trial result;
  toy_engine toy({}, {.external_stepping = true, .events = std::move(events)});
  {
    history past;
    failing_memory::refuse(n);
    past.run(toy);
    result.met = failing_memory::relent();
    past.leave(toy);
    check(past, toy);
  }
  result.lived = !toy.running.error();
  return result;
}

BOOST_AUTO_TEST_CASE(any_allocation_may_fail_and_nothing_hangs_leaks_or_lies) {
  BOOST_TEST(!with_memory_refused(1'000'000).met);  // and what is made once in a process has been made
  long survived = 0, n = 0;
  for (trial last{true, true}; last.met; ++n) {
    const long blocks = failing_memory::blocks();
    last = with_memory_refused(n);
    BOOST_TEST(failing_memory::blocks() == blocks, "allocation " << n);
    survived += last.lived;
  }
  BOOST_TEST(n > 300);
  BOOST_TEST_MESSAGE(n - 1 << " allocations of requests failed in turn; the engine lived on after " << survived - 1);
}

BOOST_AUTO_TEST_CASE(any_allocation_of_one_who_listens_may_fail_too) {
  std::ostringstream whole;
  with_memory_refused(1'000'000, std::make_shared<chrome_trace>(whole));
  long given_up = 0;
  trial last{true, true};
  for (long n = 0; last.met; ++n) {
    std::ostringstream out;
    last = with_memory_refused(n, std::make_shared<chrome_trace>(out));
    if (!out) continue;
    BOOST_TEST(boost::json::parse(out.str()).as_array().size() >= 2u, "allocation " << n);
    given_up += last.lived && out.str().size() < whole.str().size() / 2;
  }
  BOOST_TEST(given_up > 0);
}

BOOST_AUTO_TEST_CASE(any_step_may_fail_and_every_operation_completes) {
  int launches = 0;
  {
    toy_engine toy;
    toy.control->on_step = [&](const scheduler::step&) { ++launches; };
    history past;
    past.run(toy);
    past.leave(toy);
  }
  BOOST_TEST(launches > 20);
  for (int failing = 0; failing < launches; ++failing) {
    toy_engine toy;
    int seen = 0;
    toy.control->on_step = [&](const scheduler::step&) {
      if (seen++ == failing) throw std::runtime_error("the bus is on fire");
    };
    history past;
    past.run(toy);
    past.leave(toy);
    check(past, toy);
    BOOST_CHECK_EQUAL(toy.running.error().code(), make_error_code(error::device_failed));
  }
}

/// A reader and one that gathers, both with limits of time, a sequence with an operation pending, and two that wait for
/// the end of all, and one of them cancels. Returns whether the n-th allocation was met.
bool drained_with_memory_refused(long n) {
  account reader, gatherer, worker, first, second;
  net::io_context context;
  net::cancellation_signal signal;
  toy_engine toy;
  failing_memory::refuse(n);
  std::optional<token_stream> stream, two;
  std::optional<sequence> work;
  const auto go = [&] { poll_short_of_memory(toy.running, context); };
  start(reader, [&] {
    stream.emplace(toy.running.generate(
        {.prompt = token_ids{7}, .finish_within = std::chrono::hours(1), .max_buffered_tokens = 2}));
    stream->async_next_for(std::chrono::seconds(1),
                           net::bind_executor(context, [&](auto, auto) { ++reader.received; }));
  });
  start(gatherer, [&] {
    two.emplace(
        toy.running.generate({.prompt = token_ids{3, 1}, .max_tokens = 9, .start_within = std::chrono::hours(1)}));
    two->async_complete(net::bind_executor(context, [&](error_code, completion answer) {
      ++gatherer.received;
      gatherer.read(answer.tokens);
    }));
  });
  start(worker, [&] {
    work.emplace(toy.running.open());
    work->async_decode({4}, sampling_params{}, net::bind_executor(context, [&](auto, auto) { ++worker.received; }));
  });
  go();
  start(first, [&] {
    toy.running.async_drain(
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(context, [&](error_code) { ++first.received; })));
  });
  start(second, [&] { toy.running.async_drain(net::bind_executor(context, [&](error_code) { ++second.received; })); });
  go();
  signal.emit(net::cancellation_type::total);
  for (int round = 0; round < 12; ++round) go();
  const bool met = failing_memory::relent();
  if (stream) BOOST_TEST((second.received == 0 || stream->ended()));
  toy.time->advance(std::chrono::hours(1));
  for (int round = 0; round < 4; ++round) go();
  for (const auto* each : {&reader, &gatherer, &worker, &first, &second})
    BOOST_TEST(each->received == each->begun, "allocation " << n);
  check_prefix(gatherer, toy_continuation({3, 1}, 9));
  stream.reset(), two.reset(), work.reset();
  for (int round = 0; round < 2; ++round) go();
  if (!toy.running.error()) BOOST_TEST(toy.running.stats().sequences == 0);
  BOOST_TEST(toy.running.stats().queued == 0);
  return met;
}

BOOST_AUTO_TEST_CASE(any_allocation_may_fail_while_an_engine_drains) {
  BOOST_TEST(!drained_with_memory_refused(1'000'000));
  long n = 0;
  for (bool met = true; met; ++n) {
    const long blocks = failing_memory::blocks();
    met = drained_with_memory_refused(n);
    BOOST_TEST(failing_memory::blocks() == blocks, "allocation " << n);
  }
  BOOST_TEST(n > 100);
}

BOOST_AUTO_TEST_CASE(limits_of_time_that_never_pass_leave_no_memory_behind) {
  toy_engine toy;
  const auto finish_some = [&toy] {
    for (int i = 0; i < 20; ++i) {
      net::io_context context;
      auto stream =
          toy.running.generate({.prompt = token_ids{i}, .max_tokens = 2, .finish_within = std::chrono::hours(24)});
      stream.async_next_for(std::chrono::hours(1), net::bind_executor(context, [](error_code, auto) {}));
      toy.settle(context);
    }
    net::io_context context;
    toy.settle(context);
    toy.control->batches = {};
  };
  finish_some();
  const long blocks = failing_memory::blocks();
  finish_some();
  BOOST_TEST(failing_memory::blocks() == blocks);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
