#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/unit_test.hpp>

#include <tuple>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(sequences)

BOOST_AUTO_TEST_CASE(forward_gives_the_logits_after_the_last_token_or_after_each) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open();
    const std::vector<token> prompt{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const auto scores = co_await sequence.async_forward(prompt, logits_of::all);
    BOOST_TEST(scores.rows() == 11);
    for (int i = 0; i < 11; ++i)
      BOOST_TEST(scores[i] == toy_scores(std::span(prompt).first(static_cast<std::size_t>(i) + 1)),
                 boost::test_tools::per_element());
    const auto last = co_await sequence.async_forward({40, 41});
    BOOST_TEST(last.rows() == 1);
    BOOST_TEST(last.last() == toy_scores(joined(prompt, {40, 41})), boost::test_tools::per_element());
    const auto again = co_await sequence.async_forward({});
    BOOST_TEST(again.last() == last.last(), boost::test_tools::per_element());
    BOOST_TEST(sequence.tokens() == joined(prompt, {40, 41}), boost::test_tools::per_element());
  });
}

BOOST_AUTO_TEST_CASE(forward_gives_the_logits_of_what_it_was_given_and_of_nothing_that_runs_before) {
  toy_engine toy({.slots = 1, .max_sequence_length = 64, .max_batched_tokens = 3},
                 {.policies = {.idle_timeout = std::chrono::milliseconds(0)}, .external_stepping = true});
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open();
    const auto sampled = co_await sequence.async_decode({1, 2});  // has not run itself
    auto held = std::vector<token>{1, 2, sampled.id};
    const auto check = [&](const logits& scores, int rows) {
      BOOST_TEST(scores.rows() == rows);
      for (int i = 0; i < scores.rows(); ++i)
        BOOST_TEST(scores[i] == toy_scores(std::span(held).first(held.size() - static_cast<std::size_t>(rows - 1 - i))),
                   boost::test_tools::per_element());
    };
    held.insert(held.end(), {3, 4, 5, 6});
    check(co_await sequence.async_forward({3, 4, 5, 6}, logits_of::all), 4);
    sequence.truncate(5);
    held.resize(5);
    check(co_await sequence.async_forward({}, logits_of::all), 1);
  });
}

BOOST_AUTO_TEST_CASE(decode_appends_what_it_samples) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open();
    std::vector<token> sampled;
    sampled.push_back((co_await sequence.async_decode({7, 8})).id);
    for (int i = 0; i < 9; ++i) sampled.push_back((co_await sequence.async_decode()).id);
    BOOST_TEST(sampled == toy_continuation({7, 8}, 10), boost::test_tools::per_element());
    BOOST_TEST(sequence.tokens() == joined({7, 8}, sampled), boost::test_tools::per_element());
    const auto forced = co_await sequence.async_decode({50});
    BOOST_TEST(forced.id == toy_next(joined(joined({7, 8}, sampled), {50})));
  });
}

BOOST_AUTO_TEST_CASE(decode_after_forward_samples_from_the_logits_that_forward_gave) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open();
    co_await sequence.async_forward({7, 8});
    BOOST_TEST((co_await sequence.async_decode()).id == toy_next(std::vector<token>{7, 8}));
  });
}

BOOST_AUTO_TEST_CASE(a_fork_goes_its_own_way_and_leaves_its_parent_alone) {
  toy_engine toy({.slots = 4, .max_sequence_length = 300, .max_batched_tokens = 64});
  drive(toy.running, [&]() -> net::awaitable<void> {
    std::vector<token> prompt;
    for (int i = 0; i < 150; ++i) prompt.push_back(i % 90);
    auto parent = toy.running.open();
    co_await parent.async_forward(prompt);
    const int previous_tokens = toy.control->tokens;
    auto left = parent.fork();
    auto right = parent.fork();
    BOOST_TEST(left.tokens() == prompt, boost::test_tools::per_element());
    const auto a = co_await left.async_forward({1});
    const auto b = co_await right.async_forward({2, 3});
    const auto c = co_await parent.async_forward({4});
    BOOST_TEST(a.last() == toy_scores(joined(prompt, {1})), boost::test_tools::per_element());
    BOOST_TEST(b.last() == toy_scores(joined(prompt, {2, 3})), boost::test_tools::per_element());
    BOOST_TEST(c.last() == toy_scores(joined(prompt, {4})), boost::test_tools::per_element());
    BOOST_TEST(toy.control->tokens - previous_tokens == 4);  // nothing computed twice
  });
  BOOST_TEST(toy.running.stats().free_slots == 4);
}

BOOST_AUTO_TEST_CASE(truncate_goes_back_to_any_length) {
  toy_engine toy;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open();
    co_await sequence.async_forward({1, 2, 3, 4, 5, 6});
    sequence.truncate(2);
    const auto shorter = co_await sequence.async_forward({9});
    BOOST_TEST(shorter.last() == toy_scores(std::vector<token>{1, 2, 9}), boost::test_tools::per_element());
    sequence.truncate(0);
    const auto anew = co_await sequence.async_forward({8});
    BOOST_TEST(anew.last() == toy_scores(std::vector<token>{8}), boost::test_tools::per_element());
    BOOST_CHECK_THROW(sequence.truncate(2), std::out_of_range);
    BOOST_CHECK_THROW(sequence.truncate(-1), std::out_of_range);
  });
}

BOOST_AUTO_TEST_CASE(bad_operations_fail_and_change_nothing) {
  toy_engine toy({.max_sequence_length = 16});
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto sequence = toy.running.open({.max_sequence_length = 8});
    const auto fails = [&](net::awaitable<logits> wrong, error code, std::string_view word) -> net::awaitable<void> {
      error_code received;
      try {
        co_await std::move(wrong);
      } catch (const boost::system::system_error& e) {
        received = e.code();
      }
      BOOST_CHECK_EQUAL(received, make_error_code(code));
      BOOST_TEST(sequence.error().message().find(word) != std::string::npos, sequence.error().message());
    };
    co_await fails(sequence.async_forward({}, logits_of::last, net::use_awaitable), error::invalid_request, "empty");
    co_await fails(sequence.async_forward({97}, logits_of::last, net::use_awaitable), error::invalid_request, "97");
    co_await fails(sequence.async_forward(std::vector<token>(9, 1), logits_of::last, net::use_awaitable),
                   error::does_not_fit, "8");
    co_await sequence.async_forward({1, 2, 3});
    co_await fails(sequence.async_forward(std::vector<token>(6, 1), logits_of::last, net::use_awaitable),
                   error::does_not_fit, "9");
    BOOST_TEST(sequence.tokens().size() == 3u);
    toy.control->poisoned[50] = true;
    error_code received;
    try {
      co_await sequence.async_decode({50});
    } catch (const boost::system::system_error& e) {
      received = e.code();
    }
    BOOST_CHECK_EQUAL(received, make_error_code(error::bad_logits));
    const auto after = co_await sequence.async_forward({4});
    BOOST_TEST(after.last() == toy_scores(std::vector<token>{1, 2, 3, 4}), boost::test_tools::per_element());
  });
  BOOST_CHECK_THROW(std::ignore = toy.running.open({.max_sequence_length = 17}), std::invalid_argument);
  BOOST_CHECK_THROW(std::ignore = toy.running.open({.max_sequence_length = -1}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(many_strict_loops_share_every_step) {
  toy_engine toy({.slots = 8});
  net::io_context context;
  int finished = 0;
  for (token first = 0; first < 8; ++first)
    net::co_spawn(
        toy.running.get_executor(),
        [&toy, &finished, first]() -> net::awaitable<void> {
          auto sequence = toy.running.open();
          co_await sequence.async_forward({first});
          for (int i = 0; i < 10; ++i) co_await sequence.async_decode();
          ++finished;
        },
        net::detached);
  toy.settle(context);
  BOOST_TEST(finished == 8);
  BOOST_TEST(toy.control->batches.size() == 11u);
}

BOOST_AUTO_TEST_CASE(seeds_make_samples_repeat_and_forks_make_them_differ) {
  toy_engine toy({.slots = 8});
  const auto lively = sampling_params{.temperature = 40, .seed = 11};
  std::vector<token> first, second, branch;
  drive(toy.running, [&]() -> net::awaitable<void> {
    auto a = toy.running.open();
    auto b = toy.running.open();
    co_await a.async_forward({1, 2});
    co_await b.async_forward({1, 2});
    auto c = a.fork();
    for (int i = 0; i < 20; ++i) {
      first.push_back((co_await a.async_decode({}, lively)).id);
      second.push_back((co_await b.async_decode({}, lively)).id);
      branch.push_back((co_await c.async_decode({}, lively)).id);
    }
  });
  BOOST_TEST(first == second, boost::test_tools::per_element());
  BOOST_CHECK(first != branch);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
