// Places in a bounded queue: who is refused, when, in what words, and how places come back.
#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(admission)

engine_options few_wait(int max_waiting, int max_sequences = 100) {
  engine_options options;
  options.limits.max_waiting = max_waiting;
  options.limits.max_sequences = max_sequences;
  options.external_stepping = true;
  return options;
}

bool refused(const token_stream& stream) { return stream.error().code() == make_error_code(error::queue_full); }

bool says(const diagnostics& received, std::string_view words) {
  return received.message().find(words) != std::string::npos;
}

token_stream ask(engine& running) { return running.generate({.prompt = token_ids{1, 2}, .max_tokens = 2}); }

/// As many places as there are can be had, and not one more: none has leaked, none was given back twice.
void check_places(engine& running, int places) {
  std::vector<token_stream> streams;
  for (int i = 0; i < places; ++i) BOOST_TEST(!refused(streams.emplace_back(ask(running))));
  BOOST_TEST(refused(ask(running)));
  streams.clear();
  BOOST_TEST(running.stats().queued == 0);
}

BOOST_AUTO_TEST_CASE(a_full_queue_answers_before_any_step) {
  toy_engine toy({.slots = 1}, few_wait(2));
  std::vector<token_stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(ask(toy.running));
  const auto fourth = ask(toy.running);
  BOOST_TEST(fourth.ended());
  BOOST_CHECK(fourth.finish() == finish_reason::failed);
  BOOST_CHECK_EQUAL(fourth.error().code(), make_error_code(error::queue_full));
  BOOST_TEST(says(fourth.error(), "too many sequences wait for their first slot"));
  BOOST_TEST(says(fourth.error(), "may wait"));
  BOOST_TEST(toy.running.stats().queued == 3);
  BOOST_TEST(toy.running.stats().steps == 0u);
  for (const auto& each : streams) BOOST_TEST(!each.ended());
}

BOOST_AUTO_TEST_CASE(a_full_queue_takes_what_a_tenant_has_a_share_for) {
  toy_engine toy({.slots = 1}, few_wait(6));
  std::vector<token_stream> streams;
  const auto accepted = [&](std::uint64_t tenant, int n = 1) {
    auto several = toy.running.generate_n({.prompt = token_ids{1, 2}, .max_tokens = 2, .tenant = tenant}, n);
    const bool is_accepted = !refused(several[0]);
    for (auto& each : several) streams.push_back(std::move(each));
    return is_accepted;
  };
  BOOST_TEST(accepted(1, 7));
  BOOST_TEST(!accepted(1));
  BOOST_TEST(!accepted(2, 4));
  BOOST_TEST(accepted(2, 3));
  BOOST_TEST(!accepted(2));
  BOOST_TEST(accepted(3, 2));
  BOOST_TEST(!accepted(3));
  BOOST_TEST(accepted(4));
  BOOST_TEST(!accepted(1));
  streams.erase(streams.begin(), streams.begin() + 7);
  BOOST_TEST(!accepted(4, 3));
  BOOST_TEST(accepted(4, 1));
  streams.clear();
  BOOST_TEST(toy.running.stats().queued == 0);
  BOOST_TEST(accepted(1, 7));
  BOOST_TEST(!accepted(1));
}

BOOST_AUTO_TEST_CASE(a_reader_gets_the_refusal_without_a_step) {
  net::io_context context;
  toy_engine toy({.slots = 1}, few_wait(0));
  const auto first = ask(toy.running);
  auto second = ask(toy.running);
  error_code received;
  second.async_next(net::bind_executor(context, [&](error_code code, std::optional<piece>) { received = code; }));
  context.poll();
  BOOST_CHECK_EQUAL(received, make_error_code(error::queue_full));
}

BOOST_AUTO_TEST_CASE(a_handle_that_goes_gives_its_place_back_before_any_step) {
  toy_engine toy({.slots = 1}, few_wait(1));
  std::optional first(ask(toy.running));
  const auto second = ask(toy.running);
  BOOST_TEST(refused(ask(toy.running)));
  first.reset();
  BOOST_TEST(toy.running.stats().queued == 1);
  BOOST_TEST(!refused(ask(toy.running)));
}

BOOST_AUTO_TEST_CASE(a_step_that_schedules_them_makes_room_in_the_queue) {
  net::io_context context;
  toy_engine toy({.slots = 2}, few_wait(3));
  std::vector<token_stream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(ask(toy.running));
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().queued == 1);
  BOOST_TEST(toy.running.stats().sequences == 3);
  for (int i = 0; i < 2; ++i) BOOST_TEST(!refused(streams.emplace_back(ask(toy.running))));
  BOOST_TEST(refused(ask(toy.running)));
  toy.settle(context);
  BOOST_TEST(toy.running.stats().queued == 0);
  BOOST_TEST(toy.running.stats().sequences == 0);
  check_places(toy.running, 5);
}

BOOST_AUTO_TEST_CASE(every_way_to_end_gives_the_place_back) {
  net::io_context context;
  toy_engine toy({.slots = 2}, few_wait(2));
  toy.control->poisoned[50] = true;
  { auto dropped = ask(toy.running); }
  check_places(toy.running, 4);
  {
    auto stopped = ask(toy.running);
    stopped.stop();
    toy.settle(context);
    BOOST_TEST(stopped.ended());
    check_places(toy.running, 4);
  }
  {
    auto without_a_tokenizer = toy.running.generate({.prompt = "text"});
    BOOST_TEST(without_a_tokenizer.ended());
    auto invalid = toy.running.generate({.prompt = token_ids{1}, .max_tokens = -3});
    BOOST_TEST(invalid.ended());
    check_places(toy.running, 4);
  }
  {
    auto poisoned = toy.running.generate({.prompt = token_ids{50}});
    toy.settle(context);
    BOOST_CHECK_EQUAL(poisoned.error().code(), make_error_code(error::bad_logits));
    check_places(toy.running, 4);
  }
  {
    auto late = toy.running.generate({.prompt = token_ids{1}, .start_within = std::chrono::seconds(1)});
    toy.time->advance(std::chrono::seconds(1));
    toy.settle(context);
    BOOST_CHECK_EQUAL(late.error().code(), make_error_code(error::deadline_exceeded));
    check_places(toy.running, 4);
  }
  {
    auto running = toy.running.generate({.prompt = token_ids{1}, .max_buffered_tokens = 1});
    toy.running.poll_one();
    toy.running.poll_one();
  }
  toy.settle(context);
  BOOST_TEST(toy.running.stats().sequences == 0);
  check_places(toy.running, 4);
}

BOOST_AUTO_TEST_CASE(an_engine_that_dies_gives_places_back_and_says_that_it_is_dead) {
  toy_engine toy({}, few_wait(2));
  std::vector<token_stream> streams;
  streams.push_back(ask(toy.running));
  toy.control->on_step = [](const scheduler::step&) { throw std::runtime_error("the bus is on fire"); };
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().queued == 0);
  for (int i = 0; i < 3; ++i) streams.push_back(ask(toy.running));
  for (const auto& each : streams) BOOST_CHECK_EQUAL(each.error().code(), make_error_code(error::device_failed));
  BOOST_TEST(toy.running.stats().queued == 0);
}

BOOST_AUTO_TEST_CASE(an_engine_that_is_stopped_gives_places_back) {
  toy_engine toy({}, few_wait(1));
  const auto stream = ask(toy.running);
  toy.running.stop();
  BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::engine_stopped));
  BOOST_CHECK_EQUAL(ask(toy.running).error().code(), make_error_code(error::engine_stopped));
  BOOST_TEST(toy.running.stats().queued == 0);
}

BOOST_AUTO_TEST_CASE(the_number_of_sequences_is_bounded_at_once_too) {
  net::io_context context;
  toy_engine toy({}, few_wait(3, 3));
  std::vector<token_stream> streams;
  for (int i = 0; i < 2; ++i)
    streams.push_back(toy.running.generate({.prompt = token_ids{1}, .max_buffered_tokens = 1}));
  toy.settle(context);
  BOOST_TEST(toy.running.stats().queued == 0);
  BOOST_TEST(toy.running.stats().sequences == 2);
  streams.push_back(ask(toy.running));
  const auto fourth = ask(toy.running);
  BOOST_TEST(refused(fourth));
  BOOST_TEST(says(fourth.error(), "too many sequences"));
  BOOST_TEST(says(fourth.error(), "it may hold 3"));
}

BOOST_AUTO_TEST_CASE(only_what_finds_no_free_slot_waits) {
  net::io_context context;
  for (const int max_waiting : {0, 1, 3}) {
    toy_engine toy({.slots = 4}, few_wait(max_waiting));
    check_places(toy.running, 4 + max_waiting);
    std::vector<token_stream> running;
    for (int i = 0; i < 3; ++i)
      running.push_back(toy.running.generate({.prompt = token_ids{1}, .max_buffered_tokens = 1}));
    toy.running.poll_one();
    BOOST_TEST(toy.running.stats().queued == 0);
    check_places(toy.running, 1 + max_waiting);
    running.pop_back();
    toy.settle(context);
    check_places(toy.running, 2 + max_waiting);
  }
}

// Sequences under their owner's control.

/// The result of a decode that was begun now, or nothing while it is pending.
struct wait {
  wait(sequence& seq, net::io_context& context, std::vector<token> fed = {5}) {
    seq.async_decode(std::move(fed), sampling_params{},
                     net::bind_cancellation_slot(
                         signal.slot(), net::bind_executor(context, [this](auto code, auto) { received = code; })));
  }
  net::cancellation_signal signal;
  std::optional<error_code> received;
};

BOOST_AUTO_TEST_CASE(operations_of_sequences_wait_in_the_same_queue) {
  net::io_context context;
  toy_engine toy({.slots = 1}, few_wait(0));
  auto seq = toy.running.open();
  auto two = toy.running.open();
  BOOST_TEST(toy.running.stats().sequences == 0);
  wait first(seq, context), second(two, context);
  context.poll();
  BOOST_TEST(!first.received.has_value());
  BOOST_REQUIRE(second.received);
  BOOST_CHECK_EQUAL(*second.received, make_error_code(error::queue_full));
  BOOST_TEST(says(two.error(), "may wait"));
  BOOST_TEST(refused(ask(toy.running)));
  toy.settle(context);
  BOOST_REQUIRE(first.received);
  BOOST_TEST(!first.received->failed());

  // One that has had a slot comes before the queue.
  const auto queued = ask(toy.running);
  BOOST_TEST(toy.running.stats().queued == 1);
  wait third(seq, context, {});
  toy.settle(context);
  BOOST_REQUIRE(third.received);
  BOOST_TEST(!third.received->failed());
}

BOOST_AUTO_TEST_CASE(the_slots_of_idle_sequences_are_free) {
  net::io_context context;
  toy_engine toy({.slots = 2, .idle_timeout = std::chrono::milliseconds(1)}, few_wait(0));
  std::vector<sequence> idle;
  for (int i = 0; i < 2; ++i) {
    idle.push_back(toy.running.open());
    wait first(idle.back(), context);
    toy.settle(context);
  }
  check_places(toy.running, 2);
  auto stream = ask(toy.running);
  std::optional<completion> whole;
  stream.async_complete(net::bind_executor(context, [&](error_code, completion answer) { whole = std::move(answer); }));
  toy.settle(context);
  toy.time->advance(std::chrono::milliseconds(1));
  toy.settle(context);
  BOOST_REQUIRE(whole);
  BOOST_TEST(whole->tokens.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_cancelled_operation_leaves_the_queue) {
  net::io_context context;
  toy_engine toy({.slots = 1}, few_wait(0));
  auto seq = toy.running.open();
  wait first(seq, context);
  BOOST_TEST(toy.running.stats().queued == 1);
  first.signal.emit(net::cancellation_type::total);
  BOOST_TEST(toy.running.stats().queued == 0);
  wait again(seq, context);
  BOOST_TEST(toy.running.stats().queued == 1);
  toy.settle(context);
  BOOST_REQUIRE(again.received);
  BOOST_TEST(!again.received->failed());
  BOOST_TEST(toy.running.stats().queued == 0);
}

BOOST_AUTO_TEST_CASE(handles_of_sequences_give_places_back) {
  net::io_context context;
  toy_engine toy({}, few_wait(4, 2));
  {
    auto parent = toy.running.open();
    wait first(parent, context);
    toy.settle(context);
    auto two = parent.fork();
    auto three = parent.fork();  // forks are never refused
    wait second(three, context, {});
    toy.settle(context);
    BOOST_TEST(!second.received->failed());
    BOOST_TEST(toy.running.stats().sequences == 3);
    BOOST_TEST(refused(ask(toy.running)));
  }
  toy.settle(context);
  BOOST_TEST(toy.running.stats().sequences == 0);
  check_places(toy.running, 2);
}

BOOST_AUTO_TEST_CASE(an_operation_whose_context_went_leaves_the_queue) {
  net::io_context context;
  toy_engine toy({.slots = 1}, few_wait(0));
  auto seq = toy.running.open();
  {
    net::io_context gone;
    wait first(seq, gone);
  }
  wait again(seq, context);
  toy.settle(context);
  BOOST_REQUIRE(again.received);
  BOOST_TEST(!again.received->failed());
  BOOST_TEST(toy.running.stats().queued == 0);
}

BOOST_AUTO_TEST_CASE(limits_must_make_sense) {
  BOOST_CHECK_EXCEPTION(toy_engine({}, few_wait(-1)), std::invalid_argument, [](const auto& e) {
    return std::string(e.what()).find("max_waiting is -1; it must be at least 0") != std::string::npos;
  });
  BOOST_CHECK_THROW(toy_engine({}, few_wait(1, 0)), std::invalid_argument);
}

// What a request may take of the cache.

toy_setup with_memory(std::int64_t budget = 1 << 20) {
  toy_setup setup;
  setup.usage = {.fixed = 100, .per_block = 10, .block = 8};
  setup.memory_bytes = budget;
  return setup;
}

completion whole(toy_engine& toy, request wanted) {
  net::io_context context;
  completion result;
  auto stream = toy.running.generate(std::move(wanted));
  stream.async_complete(
      net::bind_executor(context, [&](error_code, completion answer) { result = std::move(answer); }));
  toy.settle(context);
  return result;
}

BOOST_AUTO_TEST_CASE(max_bytes_bounds_the_length) {
  toy_engine toy(with_memory());
  const auto answer = whole(toy, request{.prompt = token_ids{1, 2, 3}, .max_bytes = 129});  // two blocks of 8 tokens
  BOOST_TEST(ids_of(answer.tokens) == toy_continuation({1, 2, 3}, 13), boost::test_tools::per_element());
  BOOST_CHECK(answer.reason == finish_reason::length);
  BOOST_TEST(whole(toy, request{.prompt = token_ids{1, 2, 3}, .max_bytes = 130}).tokens.size() == 21u);
  BOOST_TEST(whole(toy, request{.prompt = token_ids{1, 2, 3}, .max_tokens = 4, .max_bytes = 130}).tokens.size() == 4u);
  BOOST_TEST(whole(toy, request{.prompt = token_ids{1, 2, 3}, .max_bytes = std::int64_t{1} << 62}).tokens.size() ==
             61u);
}

BOOST_AUTO_TEST_CASE(max_bytes_too_small_for_a_prompt_and_a_token_is_refused) {
  toy_engine toy(with_memory());
  const std::vector<token> block(8, 3);
  const auto small = toy.running.generate({.prompt = token_ids(block), .max_bytes = 119});
  BOOST_CHECK_EQUAL(small.error().code(), make_error_code(error::does_not_fit));
  for (const auto words : {"8 tokens", "120 bytes", "max_bytes is 119"}) BOOST_TEST(says(small.error(), words), words);
  BOOST_TEST(!toy.running.generate({.prompt = token_ids(block), .max_bytes = 120}).ended());
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    const auto wrong = toy.running.generate({.prompt = token_ids{1}, .max_bytes = bad});
    BOOST_CHECK_EQUAL(wrong.error().code(), make_error_code(error::invalid_request));
    BOOST_TEST(says(wrong.error(), "max_bytes is " + std::to_string(bad)));
  }
}

BOOST_AUTO_TEST_CASE(what_exceeds_the_whole_budget_is_refused_at_once) {
  toy_engine toy(with_memory(125));
  const auto stream = toy.running.generate({.prompt = token_ids{1, 2}, .max_tokens = 20});
  BOOST_CHECK_EQUAL(stream.error().code(), make_error_code(error::does_not_fit));
  for (const auto words : {"22 tokens", "130 bytes", "125"}) BOOST_TEST(says(stream.error(), words), words);
  BOOST_TEST(whole(toy, request{.prompt = token_ids{1, 2}, .max_bytes = 125}).tokens.size() == 14u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
