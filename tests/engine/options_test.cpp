// Every number among an engine's options has limits, and a message that names them.
#include "toy_runner.hpp"

#include <boost/pfr/tuple_size.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <ostream>
#include <string>

namespace cogen::test {

struct option_range {
  const char* name;
  std::int64_t least;
  std::int64_t most;
  std::int64_t (*set)(engine_options&, std::int64_t);  // returns the value that the option then has
  const char* unit = "";
};

std::ostream& operator<<(std::ostream& out, const option_range& range) { return out << range.name; }

BOOST_AUTO_TEST_SUITE(option_limits)

namespace {

/// Sets an option of any type, which may have a narrower range.
template <class Field>
std::int64_t assign(Field& field, std::int64_t value) {
  if constexpr (requires { field.count(); })
    return (field = Field(value)).count();
  else if constexpr (requires { *field; })
    return assign(field.emplace(), value);
  else
    return static_cast<std::int64_t>(field = static_cast<Field>(value));
}

constexpr std::int64_t bytes = std::int64_t{1} << 60;
constexpr int tokens = 1 << 20, endless = 1 << 30, requests = 1 << 24;
constexpr std::int64_t year_ms = std::int64_t{1000} * 3600 * 24 * 365;

const option_range ranges[] = {
    {"batching.slots", 1, 1 << 16, [](auto& o, auto n) { return assign(o.batching.slots, n); }},
    {"batching.max_batched_tokens", 1, tokens,
     [](auto& o, auto n) { return assign(o.batching.max_batched_tokens, n); }},
    {"batching.target_step_latency", 1, 1000 * year_ms,
     [](auto& o, auto n) { return assign(o.batching.target_step_latency, n); }, " µs"},
    {"batching.max_batch_delay", 0, 1000 * year_ms,
     [](auto& o, auto n) { return assign(o.batching.max_batch_delay, n); }, " µs"},
    {"kv.bytes", 1, bytes, [](auto& o, auto n) { return assign(o.kv.bytes, n); }},
    {"kv.checkpoint_bytes", 0, bytes, [](auto& o, auto n) { return assign(o.kv.checkpoint_bytes, n); }},
    {"kv.checkpoint_interval", 1, tokens, [](auto& o, auto n) { return assign(o.kv.checkpoint_interval, n); }},
    {"kv.prefix_cache_file_bytes", 0, bytes, [](auto& o, auto n) { return assign(o.kv.prefix_cache_file_bytes, n); }},
    {"kv.event_block_size", 1, tokens, [](auto& o, auto n) { return assign(o.kv.event_block_size, n); }},
    {"kv.max_rollback_tokens", 0, tokens, [](auto& o, auto n) { return assign(o.kv.max_rollback_tokens, n); }},
    {"kv.quantization.residual", 0, tokens,
     [](auto& o, auto n) { return assign(o.kv.quantization.emplace().residual, n); }},
    {"kv.sinks.window", 1, tokens, [](auto& o, auto n) { return assign(o.kv.sinks.emplace().window, n); }},
    {"swap.bytes", 0, bytes, [](auto& o, auto n) { return assign(o.swap.bytes, n); }},
    {"swap.file_bytes", 0, bytes, [](auto& o, auto n) { return assign(o.swap.file_bytes, n); }},
    {"policies.idle_timeout", 0, year_ms, [](auto& o, auto n) { return assign(o.policies.idle_timeout, n); }, " ms"},
    {"limits.max_sequence_length", 1, endless, [](auto& o, auto n) { return assign(o.limits.max_sequence_length, n); }},
    {"limits.max_encoder_length", 1, endless, [](auto& o, auto n) { return assign(o.limits.max_encoder_length, n); }},
    {"limits.max_sequences", 1, requests, [](auto& o, auto n) { return assign(o.limits.max_sequences, n); }},
    {"limits.max_waiting", 0, requests, [](auto& o, auto n) { return assign(o.limits.max_waiting, n); }},
    {"structured_output.limits.time", 1, year_ms,
     [](auto& o, auto n) { return assign(o.structured_output.limits.time, n); }, " ms"},
    {"threads", 1, 1 << 10, [](auto& o, auto n) { return assign(o.threads, n); }},
};

/// Sizes without a sign: what is negative is far above the limit.
const option_range sizes[] = {
    {"structured_output.limits.text_bytes", 0, bytes,
     [](auto& o, auto n) { return assign(o.structured_output.limits.text_bytes, n); }},
    {"structured_output.limits.states", 0, bytes,
     [](auto& o, auto n) { return assign(o.structured_output.limits.states, n); }},
    {"structured_output.limits.schemas", 0, bytes,
     [](auto& o, auto n) { return assign(o.structured_output.limits.schemas, n); }},
    {"structured_output.limits.bytes", 0, bytes,
     [](auto& o, auto n) { return assign(o.structured_output.limits.bytes, n); }},
    {"structured_output.cache_bytes", 0, bytes,
     [](auto& o, auto n) { return assign(o.structured_output.cache_bytes, n); }},
};

/// What the constructor of an engine says of an option's value; empty: it is taken.
std::string refusal(const option_range& range, std::int64_t& value) {
  engine_options options{.external_stepping = true};
  value = range.set(options, value);
  try {
    toy_engine({}, std::move(options));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

std::string sentence(const option_range& range, std::int64_t value, const char* bound, std::int64_t limit) {
  return "engine_options." + std::string(range.name) + " is " + std::to_string(value) + range.unit + "; it must be " +
         bound + " " + std::to_string(limit);
}

void check_refused(const option_range& range, std::int64_t value) {
  const auto received = refusal(range, value);  // the value as the option's type has it
  BOOST_TEST(received == (value < range.least ? sentence(range, value, "at least", range.least)
                                              : sentence(range, value, "at most", range.most)));
}

}  // namespace

BOOST_DATA_TEST_CASE(a_number_may_be_its_least_and_its_most, boost::unit_test::data::make(ranges), each) {
  for (std::int64_t value : {each.least, each.most}) BOOST_TEST(refusal(each, value) == "");
}

BOOST_DATA_TEST_CASE(a_number_beyond_is_refused_with_its_limit, boost::unit_test::data::make(ranges), each) {
  using int_limits = std::numeric_limits<int>;
  check_refused(each, each.least - 1);
  check_refused(each, each.most + 1);
  check_refused(each, int_limits::min());
  check_refused(each, -1'000'000'000);
  if (each.most < int_limits::max()) check_refused(each, int_limits::max());
  if (each.most < 1'000'000'000) check_refused(each, 1'000'000'000);
}

BOOST_DATA_TEST_CASE(a_size_beyond_is_refused_with_its_limit, boost::unit_test::data::make(sizes), each) {
  std::int64_t most = each.most, beyond = each.most + 1, negative = -1;
  BOOST_TEST(refusal(each, most) == "");
  BOOST_TEST(refusal(each, beyond) == sentence(each, beyond, "at most", each.most));
  BOOST_TEST(refusal(each, negative).find("it must be at most") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(recurrent_drafts_are_at_most_those_of_a_step) {
  const option_range drafts{"kv.max_recurrent_drafts", 0, 64, [](auto& options, auto n) {
                              options.kv.max_rollback_tokens = 1000;
                              return assign(options.kv.max_recurrent_drafts, n);
                            }};
  std::int64_t most = 64;
  BOOST_TEST(refusal(drafts, most) == "");
  check_refused(drafts, 65);
}

/// A new option needs its place in the tables above, if it is a number.
BOOST_AUTO_TEST_CASE(every_option_was_looked_at) {
  using boost::pfr::tuple_size_v;
  BOOST_TEST(tuple_size_v<engine_options> == 12u);
  BOOST_TEST(tuple_size_v<batching_options> == 4u);
  BOOST_TEST(tuple_size_v<kv_options> == 16u);
  BOOST_TEST(tuple_size_v<swap_options> == 5u);
  BOOST_TEST(tuple_size_v<policy_options> == 4u);
  BOOST_TEST(tuple_size_v<limit_options> == 4u);
  BOOST_TEST(tuple_size_v<structured_output_options> == 2u);
  BOOST_TEST(tuple_size_v<compile_limits> == 5u);
  BOOST_TEST(tuple_size_v<cache::quantization> == 3u);
  BOOST_TEST(tuple_size_v<cache::sink_window> == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
