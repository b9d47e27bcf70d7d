#include "scheduler/served.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <ostream>
#include <string>
#include <utility>

namespace cogen::scheduler {

struct bad_limit {
  const char* name;
  void (*spoil)(limits&);
};

struct limit_bound {
  const char* name;
  std::int64_t least;
  std::optional<std::int64_t> most;
  void (*set)(limits&, std::int64_t);
};

std::ostream& operator<<(std::ostream& out, const bad_limit& limit) { return out << limit.name; }
std::ostream& operator<<(std::ostream& out, const limit_bound& bound) { return out << bound.name; }

namespace {

const bad_limit bad_limits[] = {
    {"slots", [](limits& l) { l.slots = 0; }},
    {"slots", [](limits& l) { l.slots = 1'000'000'000; }},
    {"spare_slots", [](limits& l) { l.spare_slots = std::numeric_limits<int>::max() - l.slots + 1; }},
    {"max_sequence_length", [](limits& l) { l.max_sequence_length = 0; }},
    {"max_batched_tokens", [](limits& l) { l.max_batched_tokens = 0; }},
    {"prefill_tokens", [](limits& l) { l.prefill_tokens = -1; }},
    {"target_step_latency", [](limits& l) { l.target_step_latency = {}; }},
    {"checkpoint_bytes", [](limits& l) { l.checkpoint_bytes = -1; }},
    {"checkpoint_interval", [](limits& l) { l.checkpoint_interval = 0; }},
    {"checkpoint_usage.block",
     [](limits& l) {
       l.checkpoint_bytes = 1;
       l.checkpoint_usage.block = 0;
     }},
    {"idle_timeout", [](limits& l) { l.idle_timeout = time(-1); }},
    {"swap_bytes", [](limits& l) { l.swap_bytes = -1; }},
    {"memory_bytes", [](limits& l) { l.memory_bytes = -1; }},
    {"usage.block", [](limits& l) { l.usage.block = 0; }},
    {"usage.fixed", [](limits& l) { l.usage.fixed = -1; }},
    {"usage.fixed", [](limits& l) { l.usage.fixed = std::int64_t{1} << 62; }},
    {"usage.per_block", [](limits& l) { l.usage.per_block = -1; }},
    {"usage.per_block", [](limits& l) { l.usage.per_block = std::int64_t{1} << 60; }},
    {"usage.capped.per_block",
     [](limits& l) {
       l.usage.capped = {{1, 1}, {-1, 1}};
     }},
    {"usage.capped.per_block",
     [](limits& l) {
       l.usage.capped = {{std::int64_t{1} << 60, 1}};
     }},
    {"usage.capped.blocks",
     [](limits& l) {
       l.usage.capped = {{1, -1}};
     }},
    {"swap_usage.block",
     [](limits& l) {
       l.swap_usage = {0, 1, 0};
     }},
    {"max_rollback_tokens", [](limits& l) { l.max_rollback_tokens = -1; }},
    {"max_dropped_drafts", [](limits& l) { l.max_dropped_drafts = -1; }},
    {"depth", [](limits& l) { l.depth = 0; }},
    {"depth", [](limits& l) { l.depth = 3; }},
};

/// Of 8 slots with 64 blocks each, of which all together may take half of 2^60 bytes.
const limit_bound bounds[] = {
    {"slots", 1, std::int64_t{1} << 16, [](limits& l, std::int64_t n) { l.slots = static_cast<int>(n); }},
    {"spare_slots", 0, std::int64_t{1} << 16, [](limits& l, std::int64_t n) { l.spare_slots = static_cast<int>(n); }},
    {"max_sequence_length", 1, {}, [](limits& l, std::int64_t n) { l.max_sequence_length = static_cast<int>(n); }},
    {"max_batched_tokens", 1, {}, [](limits& l, std::int64_t n) { l.max_batched_tokens = static_cast<int>(n); }},
    {"max_all_logits_tokens", 1, {}, [](limits& l, std::int64_t n) { l.max_all_logits_tokens = static_cast<int>(n); }},
    {"memory_bytes", 0, {}, [](limits& l, std::int64_t n) { l.memory_bytes = n; }},
    {"max_rollback_tokens", 0, {}, [](limits& l, std::int64_t n) { l.max_rollback_tokens = static_cast<int>(n); }},
    {"checkpoint_interval", 1, {}, [](limits& l, std::int64_t n) { l.checkpoint_interval = static_cast<int>(n); }},
    {"checkpoint_bytes", 0, {}, [](limits& l, std::int64_t n) { l.checkpoint_bytes = n; }},
    {"idle_timeout", 0, {}, [](limits& l, std::int64_t n) { l.idle_timeout = time(n); }},
    {"swap_bytes", 0, {}, [](limits& l, std::int64_t n) { l.swap_bytes = n; }},
    {"depth", 1, 2, [](limits& l, std::int64_t n) { l.depth = static_cast<int>(n); }},
    {"usage.block", 1, {}, [](limits& l, std::int64_t n) { l.usage.block = static_cast<int>(n); }},
    {"usage.fixed", 0, std::int64_t{1} << 56, [](limits& l, std::int64_t n) { l.usage.fixed = n; }},
    {"usage.per_block", 0, std::int64_t{1} << 50, [](limits& l, std::int64_t n) { l.usage.per_block = n; }},
    {"usage.capped.per_block", 0, std::int64_t{1} << 49,
     [](limits& l, std::int64_t n) {
       l.usage.capped = {{1, 1}, {n, 1}};
     }},
    {"usage.capped.blocks",
     0,
     {},
     [](limits& l, std::int64_t n) {
       l.usage.capped = {{1, static_cast<int>(n)}};
     }},
    {"swap_usage.fixed", 0, std::int64_t{1} << 56,
     [](limits& l, std::int64_t n) {
       l.swap_usage = {n, 4, 4};
     }},
    {"swap_usage.per_block", 0, std::int64_t{1} << 50,
     [](limits& l, std::int64_t n) {
       l.swap_usage = {0, n, 4};
     }},
};

limits with(const limit_bound& bound, std::int64_t value) {
  auto within = roomy();
  bound.set(within, value);
  return within;
}

void check_says(const limits& within, const std::string& sentence) {
  BOOST_CHECK_EXCEPTION(scheduler{within}, std::invalid_argument,
                        [&](const std::invalid_argument& error) { return error.what() == sentence; });
}

void absorb_next(scheduler& sched) {
  auto step = sched.next();
  sched.absorb(step);
}

}  // namespace

BOOST_DATA_TEST_CASE(a_limit_may_have_its_least_and_its_most, boost::unit_test::data::make(bounds), each) {
  BOOST_CHECK_NO_THROW(scheduler{with(each, each.least)});
  if (each.most) BOOST_CHECK_NO_THROW(scheduler{with(each, *each.most)});
}

BOOST_DATA_TEST_CASE(a_limit_one_beyond_is_refused_with_its_bound, boost::unit_test::data::make(bounds), each) {
  const auto sentence = "limits." + std::string(each.name) + " is ";
  check_says(with(each, each.least - 1),
             sentence + std::to_string(each.least - 1) + "; it must be at least " + std::to_string(each.least));
  if (each.most)
    check_says(with(each, *each.most + 1),
               sentence + std::to_string(*each.most + 1) + "; it must be at most " + std::to_string(*each.most));
}

BOOST_DATA_TEST_CASE(a_limit_that_makes_no_sense_is_named, boost::unit_test::data::make(bad_limits), bad) {
  auto within = roomy();
  bad.spoil(within);
  BOOST_CHECK_EXCEPTION(scheduler{within}, std::invalid_argument, [&](const std::invalid_argument& error) {
    return std::string(error.what()).find("limits." + std::string(bad.name) + " is") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(limits_have_defaults) {
  scheduler sched{limits()};
  const auto idle = sched.submit({}, {{1}, output::last_logits});
  absorb_next(sched);
  sched.suspend(idle);
  BOOST_CHECK_EQUAL(sched.swapped_out(), 0);
  absorb_next(sched);
  for (int i = 0; i < 17; ++i) sched.submit({}, {counting(100), output::last_logits});
  BOOST_CHECK_EQUAL(tokens_in(sched.next()), 512);
  BOOST_CHECK_EQUAL(sched.waiting(), 1);
  BOOST_CHECK_EQUAL(sched.memory_in_use(), 0);
  BOOST_CHECK_THROW(sched.next(), std::logic_error);
  BOOST_CHECK_THROW(sched.submit({}, {counting(2049)}), std::length_error);
  BOOST_CHECK_NO_THROW(sched.submit({}, {counting(2048), output::last_logits}));
}

BOOST_AUTO_TEST_CASE(what_never_fits_is_refused_and_changes_nothing) {
  auto within = roomy();
  within.memory_bytes = 100;
  served s(within);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 257}), std::length_error);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 104}), std::length_error);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 8}, {counting(9)}), std::length_error);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = -1}), std::invalid_argument);
  BOOST_CHECK_THROW(s.sched.submit({.max_new_tokens = -1, .max_sequence_length = 8}, {{1}}), std::invalid_argument);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 8}, {{}}), std::invalid_argument);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 8}, {{1}, output::nothing}), std::invalid_argument);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 8}, {{1}, output::sample, -1}), std::invalid_argument);
  BOOST_CHECK_THROW(s.sched.submit({.max_sequence_length = 8}, {{1}, output::sample, 1, 0}), std::invalid_argument);
  BOOST_CHECK_EQUAL(s.sched.live(), 0);
  BOOST_CHECK(s.sched.next().empty());
  BOOST_CHECK_NO_THROW(s.sched.submit({.max_sequence_length = 100}));
}

BOOST_AUTO_TEST_CASE(a_sequence_is_refused_what_it_cannot_do_now) {
  served s(roomy());
  const auto id = s.sched.submit({.max_sequence_length = 8});
  BOOST_CHECK_THROW(s.sched.start(id, {}), std::invalid_argument);
  s.sched.start(id, {counting(6)});
  BOOST_CHECK_THROW(s.sched.start(id, {{1}}), std::logic_error);
  BOOST_CHECK_THROW(s.sched.fork(id), std::logic_error);
  BOOST_CHECK_THROW(s.sched.truncate(id, 0), std::logic_error);
  BOOST_CHECK_THROW(s.sched.grant(id, -1), std::invalid_argument);
  s.sched.abandon(id);
  BOOST_CHECK_THROW(s.sched.start(id, {counting(9)}), std::length_error);
  BOOST_CHECK_THROW(s.sched.truncate(id, 1), std::invalid_argument);
  BOOST_CHECK_THROW(s.sched.truncate(id, -1), std::invalid_argument);
  BOOST_CHECK(s.sched.idle(id));
}

BOOST_AUTO_TEST_CASE(a_refusal_names_the_value_and_the_limit) {
  auto within = roomy();
  within.memory_bytes = 100;
  scheduler sched(within);
  const auto refuses = [](const std::string& sentence, auto asked) {
    BOOST_CHECK_EXCEPTION(asked(), std::logic_error, [&](const std::logic_error& error) {
      BOOST_CHECK_EQUAL(error.what(), sentence);
      return true;
    });
  };
  const auto id = sched.submit({.max_sequence_length = 8}, {counting(3), output::last_logits});
  sched.abandon(id);
  sched.start(id, {counting(2), output::last_logits});
  absorb_next(sched);
  refuses("max_sequence_length is 257; the limit is 256", [&] { sched.submit({.max_sequence_length = 257}); });
  refuses("max_new_tokens is -1; it must be at least 0", [&] { sched.submit({.max_new_tokens = -1}); });
  refuses("a sequence of 104 tokens takes 104 bytes; the budget is 100",
          [&] { sched.submit({.max_sequence_length = 104}); });
  refuses("the sequence would hold 9 tokens; it may hold 8", [&] { sched.start(id, {counting(7)}); });
  refuses("run.credits is -1; it must be at least 0", [&] { sched.start(id, {{1}, output::sample, -1}); });
  refuses("run.samples is 0; it must be at least 1", [&] { sched.start(id, {{1}, output::sample, 1, 0}); });
  refuses("sequence 1 of 2 tokens cannot be cut to 3", [&] { sched.truncate(id, 3); });
  refuses("credits is -2; it must be at least 0", [&] { sched.grant(id, -2); });
  refuses("sequence 2 is not known", [&] { sched.start(sequence_id{2}, {{1}}); });
  sched.start(id, {{1}});
  refuses("sequence 1 is not idle", [&] { sched.fork(id); });
}

BOOST_AUTO_TEST_CASE(unknown_sequences_are_ignored_or_refused) {
  served s(roomy());
  const auto gone = s.sched.submit({});
  s.sched.cancel(gone);
  s.sched.cancel(gone);
  s.sched.grant(gone, 1);
  s.sched.abandon(gone);
  BOOST_CHECK_THROW(s.sched.start(gone, {{1}}), std::out_of_range);
  BOOST_CHECK_THROW(s.sched.fork(gone), std::out_of_range);
  BOOST_CHECK_THROW(s.sched.truncate(gone, 0), std::out_of_range);
  BOOST_CHECK_THROW(s.sched.tokens(gone), std::out_of_range);
  BOOST_CHECK_THROW(s.sched.idle(gone), std::out_of_range);
  BOOST_CHECK_THROW(s.sched.phase_of(gone), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(steps_are_absorbed_in_order_with_all_their_rows) {
  auto within = roomy();
  within.depth = 2;
  scheduler sched(within);
  sched.submit({}, {{1}, output::sample, 9});
  auto first = sched.next();
  auto second = sched.next();
  BOOST_CHECK_THROW(sched.next(), std::logic_error);
  BOOST_CHECK_THROW(sched.absorb(second), std::logic_error);
  const auto rows = std::exchange(first.rows, {});
  first.clears.push_back(0);
  BOOST_CHECK_THROW(sched.absorb(first), std::invalid_argument);
  first.rows = rows;
  BOOST_CHECK_EQUAL(sched.absorb(first).size(), 1);
  BOOST_CHECK_THROW(sched.absorb(first), std::logic_error);
  BOOST_CHECK_EQUAL(sched.absorb(second).size(), 1);
  step none;
  BOOST_CHECK(sched.absorb(none).empty());
}

}  // namespace cogen::scheduler
