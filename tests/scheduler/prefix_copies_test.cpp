// Prefixes that are kept are copied out of one scheduler, and found by another.
#include "scheduler/served.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(prefix_copies)
namespace {

constexpr int anywhere = std::numeric_limits<int>::max();

sequence_id ask(served& s, std::vector<token> tokens, std::uint64_t cache_salt = 0, std::vector<int> checkpoints = {}) {
  return s.sched.submit({.max_new_tokens = 2, .cache_salt = cache_salt, .release_at_end = true},
                        {.tokens = std::move(tokens), .credits = 2, .checkpoints = std::move(checkpoints)});
}

/// Tokens of its prompt that were run.
int serve(served& s, const std::vector<token>& tokens, std::uint64_t cache_salt = 0,
          std::vector<int> checkpoints = {}) {
  const auto expected = alone(tokens, 2);
  const auto id = ask(s, tokens, cache_salt, std::move(checkpoints));
  int ran = 0;
  for (step plan = s.step(); !plan.empty(); plan = s.step())
    for (const row& each : plan.rows)
      if (each.count > 1 || each.wanted == output::nothing) ran += each.count;
  BOOST_CHECK(s.sampled(id) == expected);
  return ran;
}

struct copies {
  std::vector<cached_prefix> prefixes;
  std::vector<toy::cache::snapshot> snapshots;
};

copies copied_out(served& source) {
  copies copies{source.sched.copy_out_prefixes(), {}};
  source.step();
  source.end_transfers();
  for (const auto& each : copies.prefixes) copies.snapshots.push_back(source.runner.cache().kept(each.name));
  source.finish();
  for (const auto& each : copies.prefixes) BOOST_CHECK(!source.runner.cache().keeps(each.name));
  source.sched.verify();
  return copies;
}

/// Of the copies, so many found room.
int restore(served& target, const copies& copies, bool ok = true) {
  int restored = 0;
  for (std::size_t i = 0; i < copies.prefixes.size(); ++i) {
    const auto name = target.sched.restore_prefix(copies.prefixes[i]);
    if (!name) continue;
    target.runner.keep(*name, copies.snapshots[i]);
    ++restored;
  }
  target.sched.verify();
  target.step();
  target.end_transfers(ok);
  target.sched.verify();
  return restored;
}

std::vector<token> prompt(int common, int own, int seq) { return joined(counting(common), counting(own, 5000 * seq)); }

}  // namespace

BOOST_DATA_TEST_CASE(what_one_has_kept_is_found_by_another, boost::unit_test::data::make({anywhere, 8, 0}),
                     max_rollback_tokens) {
  served first(sharing_limits(4, max_rollback_tokens));
  serve(first, prompt(100, 10, 1), 0, {100});
  serve(first, prompt(40, 10, 2), 7, {40});
  const auto copies = copied_out(first);
  BOOST_CHECK_EQUAL(serve(first, prompt(100, 10, 3)), 10);  // and is there still

  served second(sharing_limits(4, max_rollback_tokens));
  BOOST_CHECK_EQUAL(restore(second, copies), std::ssize(copies.prefixes));
  BOOST_CHECK_EQUAL(second.sched.cached_prefix_length(0, prompt(100, 10, 4)), 100);
  BOOST_CHECK_EQUAL(second.sched.cached_prefix_length(7, prompt(100, 10, 4)), 40);
  BOOST_CHECK_EQUAL(second.sched.cached_prefix_length(8, prompt(100, 10, 4)), 0);
  for (int i = 4; i < 7; ++i) BOOST_CHECK_EQUAL(serve(second, prompt(100, 10, i)), 10);
  BOOST_CHECK_EQUAL(serve(second, prompt(40, 10, 8), 7), 10);
  BOOST_CHECK_EQUAL(serve(second, prompt(40, 10, 9), 8), 50);
}

BOOST_AUTO_TEST_CASE(while_it_is_restored_it_is_neither_shared_nor_evicted) {
  served first(sharing_limits(2, anywhere));
  serve(first, prompt(100, 10, 1));
  const auto copies = copied_out(first);
  served second(sharing_limits(2, anywhere));
  const auto name = second.sched.restore_prefix(copies.prefixes[0]);
  BOOST_REQUIRE(name);
  second.runner.keep(*name, copies.snapshots[0]);
  BOOST_CHECK_EQUAL(second.sched.cached_prefix_length(0, prompt(100, 10, 2)), 0);
  second.sched.drop_prefix_cache();
  BOOST_CHECK_EQUAL(second.sched.prefix_cached_slots(), 1);
  BOOST_CHECK_EQUAL(serve(second, prompt(100, 10, 2)), 110);
  second.end_transfers();
  BOOST_CHECK_EQUAL(serve(second, prompt(100, 10, 3)), 10);
}

BOOST_AUTO_TEST_CASE(a_restore_that_fails_leaves_nothing) {
  served first(sharing_limits(2, 0));
  serve(first, prompt(100, 10, 1), 0, {100});
  served second(sharing_limits(2, 0));
  restore(second, copied_out(first), false);
  BOOST_CHECK_EQUAL(second.sched.prefix_cached_slots(), 0);
  BOOST_CHECK_EQUAL(second.sched.memory_in_use(), 0);
  BOOST_CHECK_EQUAL(second.sched.free_slots(), 2);
  BOOST_CHECK_EQUAL(serve(second, prompt(100, 10, 2)), 110);
}

BOOST_AUTO_TEST_CASE(what_is_restored_takes_the_place_of_what_was_used_longest_ago) {
  served first(sharing_limits(1, anywhere));
  serve(first, prompt(100, 10, 1));
  const auto copies = copied_out(first);
  served second(sharing_limits(1, anywhere));
  for (int i = 2; i < 6; ++i) serve(second, prompt(0, 50, i));
  BOOST_CHECK_EQUAL(restore(second, copies), 1);
  BOOST_CHECK_EQUAL(serve(second, prompt(100, 10, 7)), 10);
}

BOOST_AUTO_TEST_CASE(nothing_is_restored_without_memory_or_while_others_wait_or_where_prefixes_are_not_kept) {
  served first(sharing_limits(2, anywhere));
  serve(first, prompt(100, 10, 1));
  const auto copy = copied_out(first).prefixes.at(0);

  auto small = sharing_limits(2, anywhere);
  small.memory_bytes = small.usage(60);
  small.max_sequence_length = 60;
  BOOST_CHECK(!scheduler(small).restore_prefix(copy));

  auto none = sharing_limits(2, anywhere);
  none.prefix_caching = false;
  BOOST_CHECK(!scheduler(none).restore_prefix(copy));

  served busy(sharing_limits(1, anywhere));
  ask(busy, prompt(600, 10, 2), 1);
  ask(busy, prompt(600, 10, 3), 2);
  busy.step();
  BOOST_CHECK(!busy.sched.restore_prefix(copy));
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_does_not_have_the_tokens_is_refused) {
  scheduler sched(sharing_limits(2, anywhere));
  const auto with = [](int length, int cached, int high_water_mark, bool exact = true) {
    return cached_prefix{0, token_list(counting(9)), {length, cached, high_water_mark, exact}};
  };
  BOOST_CHECK(sched.restore_prefix(with(9, 9, 9)));
  for (const auto& wrong : {with(8, 9, 9), with(9, 8, 9), with(9, 9, 8), with(9, 9, 9, false), with(0, 0, 0)})
    BOOST_CHECK_THROW(sched.restore_prefix(wrong), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_steps_in_flight_name_or_transfers_read_is_not_copied_out) {
  served s(sharing_limits(2, anywhere));
  serve(s, prompt(100, 10, 1));
  const auto reader = ask(s, prompt(100, 10, 2));
  const auto plan = s.sched.next();
  BOOST_REQUIRE(row_of(plan, reader));
  BOOST_CHECK(s.sched.copy_out_prefixes().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
