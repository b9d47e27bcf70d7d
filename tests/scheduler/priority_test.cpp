#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

namespace cogen::scheduler {
namespace {

/// A single slot, and a level of priority for each 10 of time.
struct urgent : served {
  urgent() : served(one_slot(), by_priority(time(10))) {}

  static limits one_slot() {
    auto within = roomy();
    within.slots = 1;
    return within;
  }

  sequence_id submit_at(int when, int priority) {
    now = time(when);
    sched.advance_clock(now);
    return sched.submit({.priority = priority, .release_at_end = true}, {counting(5), output::last_logits});
  }

  /// Who has the row of the next step.
  sequence_id next_one() { return step().rows.at(0).sequence; }
};

candidate asked(time when, int priority) { return {.asked = when, .priority = priority}; }

}  // namespace

BOOST_AUTO_TEST_CASE(the_more_urgent_run_is_served_first) {
  urgent s;
  const auto normal = s.submit_at(0, 0);
  const auto high = s.submit_at(1, 2);
  const auto higher = s.submit_at(2, 3);
  const auto low = s.submit_at(2, -1);
  for (const auto each : {higher, high, normal, low}) BOOST_CHECK(s.next_one() == each);
}

BOOST_AUTO_TEST_CASE(a_level_of_priority_counts_as_the_boost_in_time) {
  urgent s;
  const auto first = s.submit_at(100, 0);
  const auto deadline_unreachable = s.submit_at(110, 1);
  const auto in_time = s.submit_at(129, 3);
  for (const auto each : {in_time, first, deadline_unreachable}) BOOST_CHECK(s.next_one() == each);
}

BOOST_AUTO_TEST_CASE(no_run_starves_however_many_more_urgent_ones_come) {
  urgent s;
  const auto patient = s.submit_at(0, 0);
  int overtaken = 0;
  for (int when = 0; when < 1000; ++when) {
    s.submit_at(when, 4);
    s.submit_at(when, 4);
    if (s.next_one() == patient) break;
    ++overtaken;
  }
  BOOST_CHECK_EQUAL(overtaken, 2 * 40);  // those that came before 40
}

BOOST_AUTO_TEST_CASE(a_run_arrives_at_the_last_clock_reading_also_after_a_long_idle_time) {
  urgent s;
  const auto holder = s.submit_at(0, 0);
  BOOST_CHECK(s.next_one() == holder);
  s.finish();
  const auto first = s.submit_at(5000, 0);
  const auto second = s.submit_at(5011, 1);
  BOOST_CHECK(s.next_one() == first);
  BOOST_CHECK(s.next_one() == second);
}

BOOST_AUTO_TEST_CASE(time_never_goes_back) {
  urgent s;
  const auto first = s.submit_at(5000, 0);
  s.sched.advance_clock(time(1));
  s.sched.submit({.release_at_end = true}, {counting(5), output::last_logits});
  const auto urgent_one = s.submit_at(5009, 1);
  BOOST_CHECK(s.next_one() == urgent_one);
  BOOST_CHECK(s.next_one() == first);
}

BOOST_AUTO_TEST_CASE(priority_counts_before_the_first_clock_reading_too) {
  urgent s;
  s.sched.submit({}, {counting(5), output::last_logits});
  const auto high = s.sched.submit({.priority = 1}, {counting(5), output::last_logits});
  BOOST_CHECK(s.next_one() == high);
}

BOOST_AUTO_TEST_CASE(a_level_counts_as_ten_seconds_where_nothing_is_said_and_a_run_has_level_0) {
  const auto scheduling_policy = by_priority();
  const auto ten_seconds = asked(std::chrono::seconds(10), 1);
  BOOST_CHECK(!scheduling_policy->precedes(ten_seconds, asked(time(), 0)));
  BOOST_CHECK(scheduling_policy->precedes(ten_seconds, asked(time(1), 0)));
  urgent s;
  const auto first = s.submit_at(0, 0);
  const auto second = s.sched.submit({}, {counting(5), output::last_logits});
  BOOST_CHECK(s.next_one() == first);
  BOOST_CHECK(s.next_one() == second);
}

BOOST_AUTO_TEST_CASE(the_most_extreme_numbers_have_an_order) {
  const auto scheduling_policy = by_priority(time::max());
  constexpr int lowest = std::numeric_limits<int>::min(), highest = std::numeric_limits<int>::max();
  const candidate candidates[] = {asked(time::min(), highest), asked(time::max(), highest), asked(time(), 0),
                                  asked(time::max(), lowest)};
  for (const auto& each : candidates) BOOST_CHECK(!scheduling_policy->precedes(each, each));
  BOOST_CHECK(scheduling_policy->precedes(candidates[0], candidates[2]));
  BOOST_CHECK(scheduling_policy->precedes(candidates[2], candidates[3]));
  BOOST_CHECK(!scheduling_policy->precedes(candidates[3], candidates[0]));
}

BOOST_AUTO_TEST_CASE(a_boost_below_zero_is_refused) {
  BOOST_CHECK_EXCEPTION(by_priority(time(-1)), std::invalid_argument, [](const std::invalid_argument& error) {
    return std::string(error.what()) == "boost is -1 ns; it must be at least 0";
  });
}

}  // namespace cogen::scheduler
