// Several generations of one request: what they say, what of the prompt is run, and how they are refused together.
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <malloc.h>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(several_streams)

const std::vector<token> prompt{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
constexpr int answer = 4;

request lively(std::optional<std::uint64_t> seed) {
  return {.prompt = token_ids(prompt), .max_tokens = answer, .sampling = {.temperature = 9, .seed = seed}};
}

std::vector<std::vector<token>> read(toy_engine& toy, stream_group streams) {
  net::io_context context;
  std::vector<std::vector<token>> said(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i)
    streams[i].async_complete(net::bind_executor(context, [&said, i](error_code code, completion whole) {
      BOOST_TEST(!code);
      said[i] = ids_of(whole.tokens);
      BOOST_TEST(whole.usage.prompt_tokens == std::ssize(prompt));
    }));
  toy.settle(context);
  return said;
}

std::vector<std::vector<token>> ask(const toy_setup& setup, int n, std::optional<std::uint64_t> seed = 7) {
  toy_engine toy(setup);
  return read(toy, toy.running.generate_n(lively(seed), n));
}

const toy_setup sharing{.slots = 4, .spare_slots = 4};

BOOST_AUTO_TEST_CASE(the_first_says_what_a_single_request_says_and_the_others_something_else) {
  toy_engine toy(sharing);
  std::vector<token_stream> single;
  single.push_back(toy.running.generate(lively(7)));
  const auto alone = read(toy, stream_group(std::move(single)));
  auto said = ask(sharing, 5);
  BOOST_TEST(said[0] == alone[0], boost::test_tools::per_element());
  std::ranges::sort(said);
  BOOST_CHECK(std::ranges::adjacent_find(said) == said.end());
}

BOOST_AUTO_TEST_CASE(a_seed_makes_each_of_them_reproducible_whatever_their_number) {
  const auto three = ask(sharing, 3), five = ask({.slots = 2, .max_batched_tokens = 3}, 5);
  BOOST_CHECK(std::ranges::equal(three, std::span(five).first(3)));
  BOOST_CHECK(ask(sharing, 3, 8) != three);
}

BOOST_AUTO_TEST_CASE(without_a_seed_they_differ_too) {
  auto said = ask(sharing, 5, std::nullopt);
  std::ranges::sort(said);
  BOOST_CHECK(std::ranges::adjacent_find(said) == said.end());
}

BOOST_AUTO_TEST_CASE(the_prompt_is_run_once_but_for_its_last_token) {
  for (const int slots : {2, 4, 9}) {
    toy_engine toy({.slots = slots, .spare_slots = slots});
    read(toy, toy.running.generate_n(lively(7), 9));
    BOOST_TEST(toy.control->tokens == std::ssize(prompt) - 1 + 9 * answer, "with " << slots << " slots");
  }
}

BOOST_AUTO_TEST_CASE(one_is_like_a_single_request) {
  toy_engine toy(sharing);
  const auto said = read(toy, toy.running.generate_n({.prompt = token_ids(prompt), .max_tokens = answer}, 1));
  BOOST_REQUIRE_EQUAL(said.size(), 1u);
  BOOST_TEST(said[0] == toy_continuation(prompt, answer), boost::test_tools::per_element());
}

/// Bytes of the heap that are in use.
std::size_t bytes_in_use() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

std::size_t bytes_of(toy_engine& toy, const request& wanted, int n) {
  const auto previous = bytes_in_use();
  const auto streams = toy.running.generate_n(wanted, n);
  toy.running.poll_one();
  return bytes_in_use() - previous;
}

BOOST_AUTO_TEST_CASE(they_share_what_their_request_holds) {
  if (bytes_in_use() == 0) return;  // the heap of a sanitizer, which does not say
  toy_engine toy(sharing);
  auto wanted = lively(7);
  for (token id = 0; id < toy_vocabulary; ++id) wanted.sampling.logit_bias[id] = 1;
  for (int i = 0; i < 16; ++i) wanted.stop.push_back(std::string(4000, static_cast<char>('a' + i)));
  wanted.cache_salt = std::string(1000, 'x');
  std::ignore = bytes_of(toy, wanted, 2);
  const auto few = bytes_of(toy, wanted, 2), many = bytes_of(toy, wanted, 42);
  BOOST_TEST(many - few < 40 * 10'000u);
  BOOST_TEST(few > 5'000'000u);  // the stop strings
}

BOOST_AUTO_TEST_CASE(all_end_when_their_handles_go) {
  toy_engine toy(sharing);
  {
    const auto streams = toy.running.generate_n(lively(7), 6);
    toy.running.poll_one();
    BOOST_TEST(toy.running.stats().sequences == 6);
  }
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().sequences == 0);
  BOOST_TEST(toy.running.stats().free_slots == 4);
}

BOOST_AUTO_TEST_CASE(one_that_is_dropped_does_not_end_the_others) {
  toy_engine toy(sharing);
  auto streams = toy.running.generate_n({.prompt = token_ids(prompt), .max_tokens = answer}, 3);
  static_cast<void>(token_stream(std::move(streams[0])));
  std::vector<token_stream> rest;
  for (std::size_t i = 1; i < streams.size(); ++i) rest.push_back(std::move(streams[i]));
  for (const auto& said : read(toy, stream_group(std::move(rest))))
    BOOST_TEST(said == toy_continuation(prompt, answer), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_number_beyond_the_limits_throws) {
  engine_options options{.external_stepping = true};
  options.limits.max_waiting = 4;
  toy_engine toy({.slots = 1}, options);
  const auto says = [](std::string_view words) {
    return [=](const std::invalid_argument& error) {
      return std::string_view(error.what()).find(words) != std::string::npos;
    };
  };
  BOOST_CHECK_EXCEPTION(std::ignore = toy.running.generate_n(lively(7), 0), std::invalid_argument, says("n is 0"));
  BOOST_CHECK_EXCEPTION(std::ignore = toy.running.generate_n(lively(7), 6), std::invalid_argument,
                        says("n is 6; it must be between 1 and 5, the 1 slots and the 4 places in the queue"));
  BOOST_TEST(toy.running.generate_n(lively(7), 5).size() == 5u);
}

void check_refused(const stream_group& streams, error code, std::string_view words) {
  for (const auto& each : streams) {
    BOOST_TEST(each.ended());
    BOOST_CHECK_EQUAL(each.error().code(), make_error_code(code));
    BOOST_TEST(each.error().message() == streams[0].error().message());
    BOOST_TEST(each.error().message().find(words) != std::string::npos, each.error().message());
  }
}

BOOST_AUTO_TEST_CASE(a_wrong_request_is_refused_for_all_of_them) {
  toy_engine toy;
  check_refused(toy.running.generate_n({.prompt = token_ids{1, 97}}, 3), error::invalid_request, "97");
  check_refused(toy.running.generate_n({.prompt = token_ids{1}, .max_tokens = -1}, 3), error::invalid_request,
                "max_tokens");
  auto too_long = toy.running.generate_n({.prompt = token_ids(64, 1)}, 3);
  for (const auto& each : too_long) BOOST_TEST(each.usage().prompt_tokens == 64);
  check_refused(too_long, error::does_not_fit, "64");
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().refused == 9u);
  BOOST_TEST(toy.running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(where_there_is_no_room_for_all_there_is_room_for_none) {
  engine_options options{.external_stepping = true};
  options.limits.max_waiting = 3;
  toy_engine toy({.slots = 1}, options);
  const auto two = toy.running.generate_n(lively(7), 2);
  check_refused(toy.running.generate_n(lively(7), 3), error::queue_full,
                "too many sequences wait for their first slot for 3 more: 3 may wait");
  BOOST_TEST(toy.running.stats().queued == 2);
  const auto rest = toy.running.generate_n(lively(7), 2);
  for (const auto& each : rest) BOOST_TEST(!each.ended());

  options.limits.max_sequences = 3;
  toy_engine small({.slots = 1}, options);
  check_refused(small.running.generate_n(lively(7), 4), error::queue_full, "it may hold 3");
  BOOST_TEST(small.running.stats().queued == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
