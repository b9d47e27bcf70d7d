// A beam search over the toy model: what it runs, how it is refused, and how it ends before its time.
#include "engine/toy_runner.hpp"

#include <cogen/decoding/beam_search.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(beam_search_strategy)

const std::vector<token> prompt{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
constexpr int length = 12, width = 4;
const toy_setup wide{.slots = 2 * width, .max_batched_tokens = 64};
const beam_search_params two_best{.num_beams = width, .num_return_sequences = 2};

request asked() { return {.prompt = token_ids(prompt), .max_tokens = length}; }

/// Readers of streams, each of which waits for the whole generation.
class readers {
 public:
  explicit readers(stream_group streams) : streams_(streams.size()), ended_(streams.size()) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      streams_[i].emplace(std::move(streams[i]));
      streams_[i]->async_complete(net::bind_executor(context, [this, i](error_code code, completion whole) {
        ended_[i] = {code, std::move(whole)};
      }));
    }
  }

  void settle(toy_engine& toy) { toy.settle(context); }

  void go(toy_engine& toy, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      toy.running.poll_one();
      context.restart();
      context.poll();
    }
  }

  token_stream& stream(std::size_t i) { return *streams_[i]; }
  void drop(std::size_t i) { streams_[i].reset(); }
  void drop_all() {
    for (auto& each : streams_) each.reset();
  }

  bool has_ended(std::size_t i) const { return ended_[i].has_value(); }
  error_code code(std::size_t i) const { return ended_.at(i).value().first; }
  std::vector<token> tokens(std::size_t i) const { return ids_of(ended_.at(i).value().second.tokens); }
  finish_reason reason(std::size_t i) const { return ended_.at(i).value().second.reason; }

  net::io_context context;

 private:
  std::vector<std::optional<token_stream>> streams_;
  std::vector<std::optional<std::pair<error_code, completion>>> ended_;
};

readers search(toy_engine& toy, request request = asked(), beam_search_params params = two_best) {
  return readers(toy.running.generate(std::move(request), cogen::beam_search(params)));
}

BOOST_AUTO_TEST_CASE(all_beams_run_in_one_batch_and_each_token_once) {
  toy_engine toy(wide);
  auto reading = search(toy);
  reading.settle(toy);
  BOOST_TEST(reading.tokens(0) == toy_continuation(prompt, length), boost::test_tools::per_element());
  BOOST_TEST(reading.tokens(1) != reading.tokens(0));
  BOOST_CHECK(reading.reason(0) == finish_reason::length);
  BOOST_TEST(reading.stream(0).score().value() > reading.stream(1).score().value());
  BOOST_TEST(toy.control->tokens == std::ssize(prompt) + (length - 1) * width);
  BOOST_TEST(toy.control->batches.size() == static_cast<std::size_t>(length));
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
  BOOST_TEST(toy.running.stats().sequences == 0);
}

BOOST_AUTO_TEST_CASE(the_score_is_the_mean_of_the_log_probabilities_of_the_tokens) {
  toy_engine toy(wide);
  auto streams = toy.running.generate(asked(), cogen::beam_search(two_best));
  net::io_context context;
  float sum = 0;
  streams[0].async_complete(net::bind_executor(context, [&](error_code, const completion& whole) {
    for (const auto& each : whole.tokens) sum += each.logprob;
  }));
  BOOST_TEST(!streams[0].score().has_value());
  toy.settle(context);
  BOOST_TEST(streams[0].score().value() == sum / static_cast<float>(length));
}

BOOST_AUTO_TEST_CASE(where_only_some_beams_have_slots_the_others_take_turns) {
  toy_engine scarce({.slots = 2, .max_batched_tokens = 64, .idle_timeout = std::chrono::nanoseconds(0)});
  auto reading = search(scarce);
  reading.settle(scarce);
  BOOST_TEST(reading.tokens(0) == toy_continuation(prompt, length), boost::test_tools::per_element());
  BOOST_TEST(scarce.running.stats().free_slots == 2);
}

std::string why_not(request request) {
  toy_engine toy(wide);
  auto reading = search(toy, std::move(request));
  reading.settle(toy);
  BOOST_CHECK(reading.code(0) == error::invalid_request);
  BOOST_CHECK(reading.code(1) == error::invalid_request);
  BOOST_TEST(toy.control->tokens == 0);
  return reading.stream(0).error().message();
}

BOOST_AUTO_TEST_CASE(what_a_search_does_not_do_is_refused_by_name) {
  const auto with = [](auto change) {
    auto request = asked();
    change(request);
    return why_not(std::move(request));
  };
  BOOST_TEST(with([](request& request) { request.sampling.temperature = 0.5; }) ==
             "temperature is 0.5; beam_search does not sample, so it must be 0");
  BOOST_TEST(with([](request& request) { request.sampling.logprobs = 3; }) ==
             "logprobs is 3; beam_search reports no alternatives, so it must be 0");
  BOOST_TEST(with([](request& request) { request.sampling.logprobs_mode = logprobs_mode::processed; }) ==
             "logprobs_mode is processed; beam_search does not filter tokens, so it must be raw");
  BOOST_TEST(with([](request& request) {
               request.stop = {"a", "b"};
             }) == "stop has 2 texts; beam_search ends hypotheses by stop_token_ids alone");
  BOOST_TEST(with([](request& request) { request.prompt_logprobs = 0; }) ==
             "prompt_logprobs is set; a strategy does not report them");
  BOOST_TEST(with([](request& request) { request.echo = true; }) ==
             "echo is set; the streams of a strategy do not begin with the prompt");
  BOOST_TEST(with([](request& request) { request.prompt = token_ids{97}; }) ==
             "the prompt holds token 97; the vocabulary ends at 96");
}

BOOST_AUTO_TEST_CASE(parameters_beyond_their_limits_are_refused_with_name_value_and_limit) {
  const auto refused = [](const beam_search_params& params) {
    try {
      params.validate();
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  BOOST_TEST(refused({}) == "");
  BOOST_TEST(refused({.num_beams = 0}) == "num_beams is 0; it must be between 1 and 256");
  BOOST_TEST(refused({.num_beams = 257}) == "num_beams is 257; it must be between 1 and 256");
  BOOST_TEST(refused({.num_beams = 2, .num_return_sequences = 3}) ==
             "num_return_sequences is 3; it must be between 1 and num_beams, which is 2");
  BOOST_TEST(refused({.num_return_sequences = 0}) ==
             "num_return_sequences is 0; it must be between 1 and num_beams, which is 4");
  BOOST_TEST(refused({.length_penalty = 101}) == "length_penalty is 101; it must be between -100 and 100");
  BOOST_TEST(refused({.length_penalty = std::numeric_limits<double>::quiet_NaN()}) ==
             "length_penalty is nan; it must be between -100 and 100");
  BOOST_TEST(refused({.early_stopping = static_cast<early_stopping>(9)}) ==
             "early_stopping is 9; it may be off (0), on (1) or never (2)");
  BOOST_CHECK_THROW(static_cast<void>(cogen::beam_search({.num_beams = 0})), std::invalid_argument);
  toy_engine toy;
  BOOST_CHECK_THROW(static_cast<void>(toy.running.generate(asked(), group_strategy{.streams = 0, .run = {}})),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_row_without_a_possible_token_fails_the_search_alone) {
  toy_engine toy(wide);
  net::io_context context;
  auto request = asked();
  request.sampling.processor = [](std::span<const token>, std::span<float> scores) {
    std::ranges::fill(scores, -std::numeric_limits<float>::infinity());
  };
  auto reading = search(toy, std::move(request));
  auto other = search(toy);
  reading.settle(toy);
  other.settle(toy);
  BOOST_CHECK(reading.code(0) == error::bad_logits);
  BOOST_TEST(reading.stream(1).error().message() == "every logit is minus infinity, so no token can be chosen");
  BOOST_TEST(other.tokens(0) == toy_continuation(prompt, length), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_processor_that_throws_fails_the_search_with_its_sentence) {
  toy_engine toy(wide);
  auto request = asked();
  request.sampling.processor = [](std::span<const token> history, std::span<float>) {
    if (history.size() == prompt.size() + 3) throw std::runtime_error("no third token");
  };
  auto reading = search(toy, std::move(request));
  reading.settle(toy);
  BOOST_CHECK(reading.code(0) == error::callback_threw);
  BOOST_TEST(reading.stream(0).error().message() == "the logits processor threw: no third token");
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
}

// Ends before their time, at each round of a search.

const auto each_round = boost::unit_test::data::xrange(0, length + 3);

BOOST_DATA_TEST_CASE(all_sequences_leave_at_once_when_the_handles_go, each_round, rounds) {
  toy_engine toy(wide);
  auto reading = search(toy);
  reading.go(toy, rounds);
  reading.drop_all();
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
  const int tokens = toy.control->tokens;
  reading.settle(toy);
  BOOST_TEST(toy.control->tokens == tokens);
  BOOST_TEST(toy.running.stats().sequences == 0);
}

BOOST_DATA_TEST_CASE(a_search_goes_on_for_the_handles_that_are_left, each_round, rounds) {
  toy_engine toy(wide);
  auto reading = search(toy);
  reading.go(toy, rounds);
  reading.drop(0);
  reading.settle(toy);
  BOOST_TEST(reading.tokens(1).size() == static_cast<std::size_t>(length));
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
}

BOOST_DATA_TEST_CASE(streams_that_are_stopped_end_without_text_and_without_a_score, each_round, rounds) {
  toy_engine toy(wide);
  auto reading = search(toy);
  reading.go(toy, rounds);
  const bool was_over = reading.stream(0).ended();
  reading.stream(0).stop();
  reading.stream(1).stop();
  toy.running.poll_one();
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
  reading.settle(toy);
  BOOST_CHECK(reading.reason(0) == (was_over ? finish_reason::length : finish_reason::aborted));
  BOOST_TEST(reading.stream(0).score().has_value() == was_over);
}

BOOST_DATA_TEST_CASE(an_engine_that_ends_fails_the_streams, each_round, rounds) {
  toy_engine toy(wide);
  auto reading = search(toy);
  reading.go(toy, rounds);
  const bool was_over = reading.stream(0).ended();
  toy.running.stop();
  reading.settle(toy);
  BOOST_CHECK(reading.code(0) == (was_over ? error_code() : make_error_code(error::engine_stopped)));
  BOOST_CHECK(reading.code(1) == reading.code(0));
}

BOOST_DATA_TEST_CASE(a_step_that_fails_fails_the_streams, boost::unit_test::data::xrange(0, length), failing) {
  toy_engine toy(wide);
  int seen = 0;
  toy.control->on_step = [&](const scheduler::step&) {
    if (seen++ == failing) throw std::runtime_error("the bus is on fire");
  };
  auto reading = search(toy);
  reading.settle(toy);
  BOOST_CHECK(reading.code(0) == error::device_failed);
  BOOST_TEST(reading.stream(1).error().message() == "a step failed: the bus is on fire");
}

BOOST_DATA_TEST_CASE(a_search_that_has_begun_ends_well_while_the_engine_drains, each_round, rounds) {
  toy_engine toy(wide);
  auto reading = search(toy);
  reading.go(toy, rounds);
  bool drained = false;
  toy.running.async_drain(net::bind_executor(reading.context, [&](error_code code) { drained = !code; }));
  reading.settle(toy);
  BOOST_TEST(reading.tokens(0) == toy_continuation(prompt, length), boost::test_tools::per_element());
  BOOST_TEST(drained);
  auto late = search(toy);
  late.settle(toy);
  BOOST_CHECK(late.code(0) == error::draining);
}

BOOST_AUTO_TEST_CASE(searches_are_read_and_dropped_on_another_thread_than_the_engines) {
  constexpr int searches = 12;
  toy_engine toy({.slots = 2 * width * searches, .max_batched_tokens = 64}, {});
  std::vector<std::optional<stream_group>> streams;
  for (int i = 0; i < searches; ++i) streams.push_back(toy.running.generate(asked(), cogen::beam_search(two_best)));
  for (int i = 0; i < searches; i += 2) streams[static_cast<std::size_t>(i)].reset();
  for (int i = 1; i < searches; i += 2) {
    const auto whole = (*streams[static_cast<std::size_t>(i)])[0].async_complete(net::use_future).get();
    BOOST_TEST(ids_of(whole.tokens) == toy_continuation(prompt, length), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_deadline_ends_a_search_without_text) {
  toy_engine toy(wide);
  auto request = asked();
  request.finish_within = std::chrono::seconds(1);
  auto reading = search(toy, std::move(request));
  reading.go(toy, 5);
  toy.time->advance(std::chrono::seconds(2));
  reading.settle(toy);
  BOOST_CHECK(reading.reason(0) == finish_reason::deadline_exceeded);
  BOOST_TEST(reading.tokens(0).empty());
  BOOST_TEST(toy.running.stats().free_slots == wide.slots);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
