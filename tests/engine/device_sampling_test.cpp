// Tokens that a device samples by itself, before the engine knows the ones before them.
#include "sampling/described_sampling.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(device_sampling)

struct setting {
  int depth;
  bool late;
};

std::ostream& operator<<(std::ostream& out, const setting& value) {
  return out << "depth " << value.depth << (value.late ? ", late" : "");
}

const std::vector<setting> settings{{1, false}, {2, false}, {2, true}};

/// An engine whose device samples.
struct sampling_engine : toy_engine {
  explicit sampling_engine(const setting& mode, std::vector<token> end_tokens = {})
      : toy_engine({.end_tokens = std::move(end_tokens), .depth = mode.depth, .late = mode.late}) {
    control->hold = mode.depth > 1;
    control->device = [](const sampling_row& row, const sampling_lists& lists, std::vector<float> scores, token last) {
      return described_sampling(row, lists)(std::move(scores), last);
    };
  }

  int rows_with(bool sampling_row::*flag) const {
    int count = 0;
    for (const auto& step : control->described) count += static_cast<int>(std::ranges::count(step, true, flag));
    return count;
  }
};

struct ending {
  std::vector<token> tokens;
  error_code code;
  std::string message;
};

std::vector<ending> read_all(toy_engine& toy, const std::vector<request>& asked) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<ending> endings(asked.size());
  for (const auto& each : asked) streams.push_back(toy.running.generate(each));
  std::size_t received = 0;
  for (std::size_t i = 0; i < asked.size(); ++i)
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      endings[i] = {ids_of(whole.tokens), code, streams[i].error().message()};
      ++received;
    }));
  for (int i = 0; i < 300 && received < asked.size(); ++i) go_on(toy, context, 1);
  BOOST_TEST(received == asked.size());
  return endings;
}

void check_same(const std::vector<ending>& sampled, const std::vector<ending>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST_CONTEXT("stream " << i) {
      BOOST_TEST(sampled[i].tokens == expected[i].tokens, boost::test_tools::per_element());
      BOOST_TEST(sampled[i].code == expected[i].code);
      BOOST_TEST(sampled[i].message == expected[i].message);
    }
  }
}

/// So hot that the toy model's one high score decides nothing.
sampling_params hot(std::uint64_t seed, sampling_params params = {}) {
  params.temperature = 40;
  params.seed = seed;
  return params;
}

std::vector<request> some_requests() {
  std::vector<sampling_params> ways{sampling_params{},
                                    sampling_params{.repetition_penalty = 3, .presence_penalty = 1},
                                    hot(1),
                                    hot(2, {.repetition_penalty = 1.3}),
                                    hot(3, {.top_k = 60, .frequency_penalty = 90}),
                                    hot(4, {.top_p = 0.7, .presence_penalty = -80}),
                                    hot(5, {.logit_bias = {{3, 100}, {4, -std::numeric_limits<double>::infinity()}}}),
                                    hot(6, {.min_p = 0.5, .min_tokens = 9})};
  std::vector<request> asked;
  for (std::size_t i = 0; i < ways.size(); ++i)
    asked.push_back(request{.prompt = token_ids{4, static_cast<token>(i), 4}, .max_tokens = 20, .sampling = ways[i]});
  return asked;
}

BOOST_DATA_TEST_CASE(streams_get_the_tokens_that_the_host_would_sample, data::make(settings), how) {
  const std::vector<token> end_tokens{11, 12, 13, 60, 61, 62, 63};
  toy_engine host({.end_tokens = end_tokens});
  sampling_engine device(how, end_tokens);
  check_same(read_all(device, some_requests()), read_all(host, some_requests()));
  BOOST_TEST(device.rows_with(&sampling_row::by_host) < 20);  // parts of prompts
  BOOST_TEST((device.rows_with(&sampling_row::unknown_last) > 20) == (how.depth > 1));
}

BOOST_DATA_TEST_CASE(rows_of_the_host_and_the_device_share_steps, data::make(settings), how) {
  auto asked = some_requests();
  for (std::size_t i = 0; i < asked.size(); i += 2)
    if (i % 4 == 0)
      asked[i].sampling.logprobs = 2;
    else
      asked[i].sampling.processor = [](auto history, auto scores) { scores[history.size() % scores.size()] += 200; };
  toy_engine host;
  sampling_engine device(how);
  check_same(read_all(device, asked), read_all(host, asked));
  BOOST_TEST(device.rows_with(&sampling_row::by_host) > 40);
}

BOOST_DATA_TEST_CASE(what_cannot_be_sampled_fails_as_on_the_host, data::make(settings), how) {
  toy_engine host;
  sampling_engine device(how);
  auto asked = some_requests();
  host.control->poisoned[7] = device.control->poisoned[7] = true;  // in the last prompt
  sampling_params nothing;
  for (token id = 0; id < toy_vocabulary; ++id) nothing.logit_bias[id] = -std::numeric_limits<double>::infinity();
  asked[2] = request{.prompt = token_ids{1, 2}, .sampling = nothing};
  const auto sampled = read_all(device, asked);
  check_same(sampled, read_all(host, asked));
  BOOST_TEST(sampled[2].code == make_error_code(error::invalid_request));
  BOOST_TEST(sampled[7].code == make_error_code(error::bad_logits));
  BOOST_TEST(!sampled[2].message.empty());
}

/// Decodes, forks, cuts and cancels; returns all tokens that were sampled, and what is held in the end.
std::vector<token> under_control(toy_engine& toy) {
  net::io_context context;
  std::vector<token> seen;
  const auto decode = [&](sequence& seq, std::vector<token> fed, const sampling_params& params) {
    std::optional<sampled_token> chosen;
    seq.async_decode(std::move(fed), params, net::bind_executor(context, [&](error_code, sampled_token result) {
                       chosen = std::move(result);
                     }));
    for (int i = 0; i < 20 && !chosen; ++i) go_on(toy, context, 1);
    BOOST_REQUIRE(chosen);
    seen.push_back(chosen->id);
  };
  const auto cancel_decode = [&](sequence& seq, int rounds) {
    net::cancellation_signal signal;
    bool received = false;
    seq.async_decode(
        {5, 6}, hot(8),
        net::bind_cancellation_slot(signal.slot(),
                                    net::bind_executor(context, [&](error_code, sampled_token) { received = true; })));
    for (int i = 0; i < rounds; ++i) toy.running.poll_one();
    signal.emit(net::cancellation_type::terminal);
    go_on(toy, context, 3);
    BOOST_TEST(received);
  };
  const auto penalized = hot(7, {.repetition_penalty = 2, .frequency_penalty = 30});
  auto first = toy.running.open();
  decode(first, {1, 2, 3}, hot(7));
  for (int i = 0; i < 6; ++i) decode(first, {}, penalized);
  auto second = first.fork();
  for (int i = 0; i < 3; ++i) {
    decode(first, {}, penalized);
    decode(second, {9}, penalized);
    decode(second, {}, hot(static_cast<std::uint64_t>(i), {.top_k = 9, .logprobs = 0}));
  }
  second.truncate(5);
  decode(second, {}, penalized);
  decode(second, {}, penalized);
  cancel_decode(first, 0);
  cancel_decode(first, 1);
  decode(first, {}, penalized);
  decode(first, {8}, hot(7, {.min_tokens = 100}));
  for (const auto* each : {&first, &second}) {
    const auto held = each->tokens();
    seen.insert(seen.end(), held.begin(), held.end());
  }
  return seen;
}

BOOST_DATA_TEST_CASE(sequences_get_the_tokens_that_the_host_would_sample, data::make(settings), how) {
  sampling_engine host(how, {11, 60}), device(how, {11, 60});
  host.control->device = nullptr;
  BOOST_TEST(under_control(device) == under_control(host), boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(a_stream_may_go_while_its_tokens_are_on_their_way, data::make(settings), how) {
  sampling_engine device(how);
  toy_engine host;
  net::io_context context;
  std::optional<token_stream> gone =
      device.running.generate({.prompt = token_ids{9, 9}, .max_tokens = 40, .sampling = hot(1)});
  go_on(device, context, 3);
  for (int i = 0; i < 3; ++i) device.running.poll_one();
  gone.reset();
  check_same(read_all(device, some_requests()), read_all(host, some_requests()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
