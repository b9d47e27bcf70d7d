#pragma once

#include "sampling/described_sampling.hpp"
#include "text_guide.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace cogen::test {

using texts = std::vector<std::vector<token>>;

/// Where and when rows are sampled.
struct sampled_where {
  bool by_device;
  int depth;
  bool late;
  int postponed_call = 0;  // of a guide, within a step
};

inline std::ostream& operator<<(std::ostream& out, const sampled_where& place) {
  return out << (place.by_device ? "device" : "host") << ", depth " << place.depth << (place.late ? ", late" : "")
             << (place.postponed_call > 0 ? ", each call postponed of " + std::to_string(place.postponed_call) : "");
}

inline const std::vector<sampled_where> sampled_everywhere{
    {false, 1, false}, {true, 1, false}, {true, 2, false}, {true, 2, true}};

/// Also by guides that take longer than a step may wait.
inline const std::vector<sampled_where> sampled_at_any_time = [] {
  auto result = sampled_everywhere;
  for (const auto& each : sampled_everywhere)
    for (const int call : {1, 2, 5}) result.push_back({each.by_device, each.depth, each.late, call});
  return result;
}();

struct guided_engine : toy_engine {
  explicit guided_engine(const sampled_where& place = sampled_everywhere.front(), toy_setup setup = {})
      : toy_engine(with(setup, place)) {
    postponed_call = place.postponed_call;
    control->hold = place.depth > 1;
    control->on_step = [this](const scheduler::step& plan) {
      for (const auto& row : plan.rows) chained += row.chained;
    };
    if (!place.by_device) return;
    control->device = [](const sampling_row& row, const sampling_lists& lists, std::vector<float> scores, token last) {
      return described_sampling(row, lists)(std::move(scores), last);
    };
  }

  ~guided_engine() { postponed_call = 0; }
  guided_engine(const guided_engine&) = delete;
  guided_engine& operator=(const guided_engine&) = delete;

  static toy_setup with(toy_setup setup, const sampled_where& place) {
    setup.depth = place.depth;
    setup.late = place.late;
    return setup;
  }

  int chained = 0;  // rows
};

struct guided_outcome {
  std::vector<token> tokens;
  std::optional<finish_reason> reason;
  error_code code;
  std::string message;
  cogen::usage usage;
};

inline std::vector<guided_outcome> outcomes(toy_engine& toy, stream_group streams) {
  net::io_context context;
  std::vector<guided_outcome> result(streams.size());
  std::size_t received = 0;
  for (std::size_t i = 0; i < streams.size(); ++i)
    streams[i].async_complete(net::bind_executor(context, [&, i](error_code code, const completion& whole) {
      result[i] = {ids_of(whole.tokens), streams[i].finish(), code, streams[i].error().message(), streams[i].usage()};
      ++received;
    }));
  for (int i = 0; i < 300 && received < streams.size(); ++i) go_on(toy, context, 1);
  BOOST_TEST(received == streams.size());
  return result;
}

inline std::vector<guided_outcome> ask(toy_engine& toy, const std::vector<request>& requests) {
  std::vector<token_stream> streams;
  for (const auto& each : requests) streams.push_back(toy.running.generate(each));
  return outcomes(toy, stream_group(std::move(streams)));
}

inline guided_outcome ask(toy_engine& toy, const request& wanted) { return ask(toy, std::vector{wanted}).front(); }

inline request constrained(std::shared_ptr<const guide> grammar, sampling_params params = {}) {
  return {.prompt = token_ids{4, 4},
          .max_tokens = 20,
          .sampling = std::move(params),
          .response_format = std::move(grammar)};
}

inline sampling_params hot(std::uint64_t seed) { return {.temperature = 40, .seed = seed}; }

inline void check_said(const guided_outcome& outcome, const std::vector<token>& tokens, finish_reason reason) {
  BOOST_TEST(outcome.tokens == tokens, boost::test_tools::per_element());
  BOOST_CHECK(outcome.reason == reason);
  BOOST_TEST(!outcome.code);
}

inline void check_failed(const guided_outcome& outcome, error code, std::string_view words) {
  BOOST_CHECK_EQUAL(outcome.code, make_error_code(code));
  BOOST_TEST(outcome.message.find(words) != std::string::npos, outcome.message);
}

}  // namespace cogen::test
