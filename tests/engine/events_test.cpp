// The events of a request's life, and their order.
#include "recorder.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <tuple>

namespace cogen::test {
namespace {

using namespace std::chrono_literals;
using sentences = std::vector<std::string>;

void check(const sentences& received, const sentences& expected) {
  BOOST_TEST(received == expected, boost::test_tools::per_element());
}

/// An externally stepped engine with an event sink.
struct observed {
  explicit observed(toy_setup setup = {}, int max_sequences = 4096)
      : toy(setup, {.limits = {.max_sequences = max_sequences},
                    .external_stepping = true,
                    .log = [this](std::string_view line) { logged.emplace_back(line); },
                    .events = sink}) {}

  void settle() {
    net::io_context context;
    toy.settle(context);
  }

  std::optional<piece> read(token_stream& stream) {
    net::io_context context;
    std::optional<piece> result;
    stream.async_next(net::bind_executor(context, [&](error_code, std::optional<piece> next) { result = next; }));
    toy.settle(context);
    return result;
  }

  engine_stats stats() const { return toy.running.stats(); }

  std::shared_ptr<recorder> sink = std::make_shared<recorder>();
  sentences logged;
  toy_engine toy;
};

request counting(int tokens, int wanted, int buffered = 16) {
  return {
      .prompt = token_ids(static_cast<std::size_t>(tokens), 5), .max_tokens = wanted, .max_buffered_tokens = buffered};
}

BOOST_AUTO_TEST_SUITE(events)

BOOST_AUTO_TEST_CASE(a_request_is_accepted_scheduled_prefilled_and_finished) {
  observed subject;
  auto stream = subject.toy.running.generate(counting(11, 3));
  subject.settle();
  check(subject.sink->received, {"1 accepted 11", "1 scheduled in 0", "step 1: 1 rows, 8 tokens", "1 prefilled 8",
                                 "step 2: 1 rows, 3 tokens", "1 prefilled 3", "1 first_token",
                                 "step 3: 1 rows, 1 tokens", "step 4: 1 rows, 1 tokens", "1 finished length"});
  BOOST_TEST(stream.id() == 1u);
  const auto& end = subject.sink->events.back();
  BOOST_TEST(end.usage.prompt_tokens == 11);
  BOOST_TEST(end.usage.generated_tokens == 3);
  BOOST_TEST(end.step == 4u);
  BOOST_TEST(!end.error);
  BOOST_TEST(subject.stats().finished == 1u);
}

BOOST_AUTO_TEST_CASE(a_prompt_that_fits_into_one_step_is_one_chunk) {
  observed subject;
  auto stream = subject.toy.running.generate(counting(1, 1));
  subject.settle();
  check(subject.sink->received, {"1 accepted 1", "1 scheduled in 0", "step 1: 1 rows, 1 tokens", "1 prefilled 1",
                                 "1 first_token", "1 finished length"});
}

BOOST_AUTO_TEST_CASE(steps_tell_what_the_engine_held_while_they_ran) {
  observed subject({.slots = 2, .max_batched_tokens = 64});
  std::vector<token_stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(subject.toy.running.generate(counting(4 + i, 2)));
  subject.settle();
  const auto& steps = subject.sink->steps;
  BOOST_REQUIRE(steps.size() == 4u);
  for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(steps[i].number == i + 1);
  BOOST_TEST(steps[0].rows == 2);
  BOOST_TEST(steps[0].tokens == 9);
  BOOST_TEST(steps[0].prefilled == 9);
  BOOST_TEST(steps[0].slots_in_use == 2);
  BOOST_TEST(steps[0].waiting == 1);
  BOOST_TEST(steps[1].prefilled == 0);
  BOOST_TEST(steps[2].rows == 1);
  BOOST_TEST(steps[2].prefilled == 6);
  BOOST_TEST(steps[2].waiting == 0);
  BOOST_TEST(steps[3].slots_in_use == 1);
}

BOOST_AUTO_TEST_CASE(a_sequence_with_a_slot_but_no_row_yet_has_its_events_too) {
  observed subject({.slots = 2, .max_batched_tokens = 8});
  auto first = subject.toy.running.generate(counting(16, 1));
  auto second = subject.toy.running.generate(counting(3, 1));
  subject.toy.running.poll_one();
  check(subject.sink->received, {"1 accepted 16", "2 accepted 3", "1 scheduled in 0", "2 scheduled in 1",
                                 "step 1: 1 rows, 8 tokens", "1 prefilled 8"});
  BOOST_TEST(subject.stats().scheduled == 2);
  BOOST_TEST(subject.stats().waiting_tokens == 0);
}

BOOST_AUTO_TEST_CASE(a_refused_request_has_one_event) {
  observed subject({}, 1);
  auto wrong = subject.toy.running.generate({.prompt = token_ids{1, 97}});
  auto running = subject.toy.running.generate(counting(2, 1));
  auto too_many = subject.toy.running.generate(counting(2, 1));
  subject.settle();
  check(subject.sink->life_of(wrong.id()), {"1 refused"});
  check(subject.sink->life_of(too_many.id()), {"3 refused"});
  for (const auto& each : subject.sink->events) {
    if (each.id == wrong.id()) BOOST_CHECK_EQUAL(each.error.code(), make_error_code(error::invalid_request));
    if (each.id == too_many.id()) BOOST_CHECK_EQUAL(each.error.code(), make_error_code(error::queue_full));
  }
  BOOST_TEST(subject.stats().refused == 2u);
  BOOST_TEST(subject.stats().finished == 1u);
}

BOOST_AUTO_TEST_CASE(a_refused_handle_that_is_let_go_of_at_once_is_still_refused) {
  observed subject;
  std::ignore = subject.toy.running.generate({.prompt = token_ids{}});
  subject.settle();
  check(subject.sink->received, {"1 refused"});
  BOOST_TEST(subject.stats().cancelled == 0u);
}

BOOST_AUTO_TEST_CASE(one_who_is_cancelled_while_it_waits_never_had_a_slot) {
  observed subject({.slots = 1});
  auto first = subject.toy.running.generate(counting(2, 30));
  auto second = std::make_optional(subject.toy.running.generate(counting(7, 1)));
  subject.toy.running.poll_one();
  BOOST_TEST(subject.stats().waiting_tokens == 7);
  second.reset();
  subject.toy.running.poll_one();
  check(subject.sink->life_of(2), {"2 accepted 7", "2 cancelled"});
  BOOST_TEST(subject.stats().cancelled == 1u);
  BOOST_TEST(subject.stats().waiting_tokens == 0);
  BOOST_TEST(subject.stats().scheduled == 1);
}

BOOST_AUTO_TEST_CASE(one_who_is_cancelled_while_it_runs_leaves_its_slot) {
  observed subject;
  auto stream = std::make_optional(subject.toy.running.generate(counting(3, 30)));
  for (int i = 0; i < 3; ++i) subject.toy.running.poll_one();
  stream.reset();
  subject.settle();
  check(subject.sink->life_of(1),
        {"1 accepted 3", "1 scheduled in 0", "1 prefilled 3", "1 first_token", "1 cancelled"});
  BOOST_TEST(subject.sink->events.back().slot == 0);
  BOOST_TEST(subject.sink->events.back().usage.generated_tokens == 3);
  BOOST_TEST(subject.stats().scheduled == 0);
}

BOOST_AUTO_TEST_CASE(results_of_a_step_in_flight_for_an_ended_sequence_are_not_reported) {
  observed subject;
  subject.toy.control->hold = true;
  auto stream = std::make_optional(subject.toy.running.generate(counting(3, 30)));
  subject.toy.running.poll_one();
  stream.reset();
  subject.toy.running.poll_one();
  subject.toy.control->release();
  subject.settle();
  check(subject.sink->received, {"1 accepted 3", "1 scheduled in 0", "1 cancelled", "step 1: 1 rows, 3 tokens"});
}

BOOST_AUTO_TEST_CASE(a_stream_that_is_stopped_finishes) {
  observed subject;
  auto stream = subject.toy.running.generate(counting(3, 30));
  subject.toy.running.poll_one();
  stream.stop();
  subject.settle();
  check(subject.sink->life_of(1),
        {"1 accepted 3", "1 scheduled in 0", "1 prefilled 3", "1 first_token", "1 finished aborted"});
  BOOST_TEST(subject.stats().finished == 1u);
}

BOOST_AUTO_TEST_CASE(who_rests_while_others_wait_is_preempted_and_resumed) {
  observed subject({.slots = 1, .idle_timeout = 10ms});
  auto slow = subject.toy.running.generate(counting(3, 4, 2));
  subject.settle();
  auto other = subject.toy.running.generate(counting(2, 1));
  subject.settle();
  subject.toy.time->advance(10ms);
  subject.settle();
  BOOST_TEST(subject.sink->steps.back().preempted == 1);
  BOOST_TEST(subject.stats().preempted == 1u);
  while (subject.read(slow)) continue;
  check(subject.sink->received,
        {"1 accepted 3", "1 scheduled in 0", "step 1: 1 rows, 3 tokens", "1 prefilled 3", "1 first_token",
         "step 2: 1 rows, 1 tokens", "2 accepted 2", "1 preempted in 0", "2 scheduled in 0", "step 3: 1 rows, 2 tokens",
         "2 prefilled 2", "2 first_token", "2 finished length", "1 resumed in 0", "step 4: 1 rows, 5 tokens",
         "1 prefilled 5", "step 5: 1 rows, 1 tokens", "1 finished length"});
  BOOST_TEST(subject.sink->steps.back().preempted == 0);
}

BOOST_AUTO_TEST_CASE(one_who_is_preempted_may_be_cancelled) {
  observed subject({.slots = 1, .idle_timeout = 10ms});
  auto slow = std::make_optional(subject.toy.running.generate(counting(3, 4, 1)));
  subject.settle();
  auto other = subject.toy.running.generate(counting(2, 9));
  subject.settle();
  subject.toy.time->advance(10ms);
  subject.toy.running.poll_one();
  slow.reset();
  subject.settle();
  check(subject.sink->life_of(1),
        {"1 accepted 3", "1 scheduled in 0", "1 prefilled 3", "1 first_token", "1 preempted in 0", "1 cancelled"});
  BOOST_TEST(subject.sink->steps.back().preempted == 0);
}

BOOST_AUTO_TEST_CASE(a_row_that_fails_ends_its_own_request) {
  observed subject;
  subject.toy.control->poisoned[50] = true;
  auto stream = subject.toy.running.generate({.prompt = token_ids{50, 1}, .max_tokens = 5});
  subject.settle();
  check(subject.sink->life_of(1), {"1 accepted 2", "1 scheduled in 0", "1 prefilled 2", "1 finished failed"});
  BOOST_CHECK_EQUAL(subject.sink->events.back().error.code(), make_error_code(error::bad_logits));
  BOOST_TEST(subject.stats().failed == 1u);
  BOOST_TEST(subject.stats().finished == 0u);
}

BOOST_AUTO_TEST_CASE(when_the_engine_dies_all_requests_end_and_then_the_engine) {
  observed subject({.slots = 1});
  auto running = subject.toy.running.generate(counting(2, 30));
  auto waiting = subject.toy.running.generate(counting(2, 30));
  subject.toy.running.poll_one();
  subject.toy.control->on_step = [](const scheduler::step&) { throw std::runtime_error("the bus is on fire"); };
  subject.toy.running.poll_one();
  check(subject.sink->life_of(1),
        {"1 accepted 2", "1 scheduled in 0", "1 prefilled 2", "1 first_token", "1 finished failed"});
  check(subject.sink->life_of(2), {"2 accepted 2", "2 finished failed"});
  BOOST_TEST(subject.sink->received.back() == "end");
  BOOST_CHECK_EQUAL(subject.sink->end.value().code(), make_error_code(error::device_failed));
  BOOST_TEST(subject.sink->steps.size() == 1u);
  BOOST_TEST(subject.stats().failed == 2u);
  std::ignore = subject.toy.running.generate(counting(2, 1));
  BOOST_TEST(subject.sink->received.back() == "end");
}

BOOST_AUTO_TEST_CASE(an_engine_that_is_stopped_tells_its_end_and_lets_go_of_the_sink) {
  auto sink = std::make_shared<recorder>();
  toy_engine toy({}, {.external_stepping = true, .events = sink});
  auto accepted = toy.running.generate(counting(2, 30, 1));
  for (int i = 0; i < 3; ++i) toy.running.poll_one();
  auto unseen = toy.running.generate(counting(2, 30));
  toy.running.stop();
  BOOST_TEST(sink->life_of(1).back() == "1 finished failed");
  check(sink->life_of(2), {"2 refused"});
  BOOST_CHECK_EQUAL(sink->end.value().code(), make_error_code(error::engine_stopped));
  BOOST_TEST(sink.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_sequence_is_accepted_with_its_first_operation_and_goes_with_its_handle) {
  observed subject;
  {
    auto unused = subject.toy.running.open();
    auto sequence = subject.toy.running.open();
    drive(subject.toy.running, [&]() -> net::awaitable<void> {
      co_await sequence.async_forward({1, 2, 3}, logits_of::all);
      co_await sequence.async_decode();
      auto fork = sequence.fork();
      co_await fork.async_decode();
    });
    BOOST_TEST(sequence.id() == 2u);
  }
  subject.settle();
  check(subject.sink->life_of(1), {"1 cancelled"});
  check(subject.sink->life_of(2),
        {"2 accepted 0", "2 scheduled in 0", "2 prefilled 3", "2 first_token", "2 cancelled"});
  check(subject.sink->life_of(3), {"3 accepted 4", "3 scheduled in 1", "3 first_token", "3 cancelled"});
  BOOST_TEST(subject.stats().scheduled == 0);
}

BOOST_AUTO_TEST_CASE(a_sequence_that_is_refused_may_ask_again) {
  observed subject({}, 1);
  auto running = std::make_optional(subject.toy.running.generate(counting(2, 30)));
  auto sequence = subject.toy.running.open();
  subject.toy.running.poll_one();
  drive(subject.toy.running, [&]() -> net::awaitable<void> {
    BOOST_CHECK_THROW(co_await sequence.async_forward({1}), boost::system::system_error);
  });
  running.reset();
  subject.toy.running.poll_one();
  drive(subject.toy.running, [&]() -> net::awaitable<void> { co_await sequence.async_forward({1}); });
  check(subject.sink->life_of(2), {"2 refused", "2 accepted 0", "2 scheduled in 0", "2 prefilled 1", "2 first_token"});
  BOOST_TEST(subject.stats().refused == 1u);
}

/// Throws at the n-th event.
class fragile final : public event_sink {
 public:
  explicit fragile(int n) : n_(n) {}
  void on_step(const step_event&) override { hear(); }
  void on_sequence(const sequence_event&) override { hear(); }
  void on_end(const diagnostics&, clock::time_point) override { hear(); }
  static inline int heard = 0;

 private:
  void hear() {
    if (++heard == n_) throw std::runtime_error("the disk is full");
  }
  int n_;
};

BOOST_AUTO_TEST_CASE(a_sink_that_throws_is_released_and_harms_no_request) {
  int failing = 1;
  for (bool threw = true; threw; ++failing) {
    fragile::heard = 0;
    sentences logged;
    auto sink = std::make_shared<fragile>(failing);
    const std::weak_ptr<fragile> kept = sink;
    toy_engine toy(
        {},
        {.external_stepping = true, .log = [&](auto line) { logged.emplace_back(line); }, .events = std::move(sink)});
    net::io_context context;
    std::optional<completion> whole;
    auto stream = toy.running.generate(counting(11, 3));
    auto wrong = toy.running.generate({.prompt = token_ids{}});
    stream.async_complete(
        net::bind_executor(context, [&](error_code, completion answer) { whole = std::move(answer); }));
    toy.settle(context);
    BOOST_REQUIRE(whole);
    BOOST_TEST(ids_of(whole->tokens) == toy_continuation(std::vector<token>(11, 5), 3),
               boost::test_tools::per_element());
    BOOST_TEST(toy.running.stats().finished == 1u);
    toy.running.stop();
    BOOST_TEST(kept.expired());
    threw = !logged.empty();
    BOOST_TEST(fragile::heard == (threw ? failing : 12));
    if (threw) BOOST_TEST(logged == sentences{"the event sink threw and was released: the disk is full"});
  }
  BOOST_TEST(failing == 14);
}

BOOST_AUTO_TEST_CASE(a_sink_may_use_the_engine) {
  struct curious final : event_sink {
    void on_sequence(const sequence_event& event) override {
      if (event.type == sequence_event::kind::finished && !second) second.emplace(asked->generate(counting(2, 1)));
      finished = asked->stats().finished;
    }
    engine* asked = nullptr;
    std::optional<token_stream> second;
    std::uint64_t finished = 0;
  };
  const auto sink = std::make_shared<curious>();
  toy_engine toy({}, {.external_stepping = true, .events = sink});
  sink->asked = &toy.running;
  auto stream = toy.running.generate(counting(2, 1));
  net::io_context context;
  toy.settle(context);
  BOOST_TEST(sink->second.value().ended());
  BOOST_TEST(sink->finished == 1u);
  BOOST_TEST(toy.running.stats().finished == 2u);
}

BOOST_AUTO_TEST_CASE(the_most_that_ever_was_is_kept) {
  observed subject({.slots = 3, .max_batched_tokens = 64});
  std::vector<token_stream> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(subject.toy.running.generate(counting(4, 2)));
  subject.settle();
  BOOST_TEST(subject.stats().peak_rows == 3);
  BOOST_TEST(subject.stats().peak_waiting == 5);
  BOOST_TEST(subject.stats().waiting == 0);
  BOOST_TEST(subject.stats().finished == 5u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
