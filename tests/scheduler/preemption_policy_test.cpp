// Who leaves a slot for another one: those that rest, by the policy of preemption policies, and those that run, by
// rank.
#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(preemption_policies)
namespace {

limits at_once(int slots) {
  auto within = roomy();
  within.slots = within.spare_slots = slots;
  within.idle_timeout = time(0);
  within.swap_bytes = 1'000'000;
  return within;
}

sequence_id ask(served& s, int priority, int first_token, int samples = 4) {
  return s.sched.submit({.max_new_tokens = samples, .priority = priority, .release_at_end = true},
                        {counting(5, first_token), output::sample, samples});
}

/// Three idle sequences of 20, 5 and 9 tokens, the first of which has been idle longest.
struct three_idle {
  explicit three_idle(std::unique_ptr<preemption_policy> who) : s(at_once(3), fcfs(), std::move(who)) {
    for (const int length : {20, 5, 9}) ids.push_back(prefilled(s, length));
  }

  /// Who left for one that came.
  sequence_id leaves() {
    ask(s, 0, 50);
    s.step();
    const auto left = std::ranges::find_if(ids, [&](sequence_id id) { return !s.sched.scheduled(id); });
    BOOST_REQUIRE(left != ids.end());
    return *left;
  }

  served s;
  std::vector<sequence_id> ids;
};

class newest_first final : public preemption_policy {
 public:
  bool precedes(const holder& a, const holder& b) const noexcept override { return a.run.sequence > b.run.sequence; }
};

/// Counts the tokens that are scheduled, run out of those, and dropped; tenants take turns at nothing.
struct received final : fairness_counters {
  void join(std::uint64_t) override {}
  void leave(std::uint64_t) noexcept override {}
  void waits(std::uint64_t, bool) noexcept override {}
  void scheduled(std::uint64_t, std::int64_t tokens) noexcept override { owed += tokens; }
  void ran(std::uint64_t, std::int64_t, std::int64_t fed) noexcept override { owed -= fed; }
  void dropped(std::uint64_t, std::int64_t tokens) noexcept override { owed -= tokens; }
  double mark(std::uint64_t, turn) const noexcept override { return 0; }

  std::int64_t owed = 0;
};

/// Divides, and lets those displace others that have more priority.
class ranks final : public scheduling_policy {
 public:
  explicit ranks(received& counters) : counters_(counters) {}

  bool precedes(const candidate& a, const candidate& b) const noexcept override { return a.priority > b.priority; }
  bool displaces(const candidate& a, const candidate& b) const noexcept override { return precedes(a, b); }
  fairness_counters* divides() noexcept override { return &counters_; }

 private:
  received& counters_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(of_those_that_rest_the_policy_says_who_leaves) {
  three_idle idlest(longest_idle()), cheap(least_cached()), large(largest()), none(nullptr);
  BOOST_CHECK(idlest.leaves() == idlest.ids[0]);
  BOOST_CHECK(cheap.leaves() == cheap.ids[1]);
  BOOST_CHECK(large.leaves() == large.ids[0]);  // all have the same set aside
  BOOST_CHECK(none.leaves() == none.ids[0]);
  three_idle own(std::make_unique<newest_first>());
  BOOST_CHECK(own.leaves() == own.ids[2]);
}

BOOST_AUTO_TEST_CASE(the_largest_is_the_one_with_the_most_memory) {
  served s(at_once(2), fcfs(), largest());
  const auto small = s.sched.submit({.max_sequence_length = 10}, {counting(9), output::last_logits});
  const auto big = s.sched.submit({.max_sequence_length = 40}, {counting(3), output::last_logits});
  s.finish();
  ask(s, 0, 50);
  s.step();
  BOOST_CHECK(s.sched.scheduled(small) && !s.sched.scheduled(big));
}

BOOST_AUTO_TEST_CASE(the_more_urgent_one_displaces_the_lowest_that_runs) {
  served s(at_once(2), by_priority(time(100)));
  const auto middle = ask(s, 1, 10);
  const auto low = ask(s, 0, 20);
  s.step();
  const auto urgent = ask(s, 2, 30);
  const auto plan = s.step();
  BOOST_CHECK(row_of(plan, urgent) && row_of(plan, middle) && !row_of(plan, low));
  BOOST_REQUIRE_EQUAL(plan.swap_outs.size(), 1u);
  BOOST_CHECK(plan.swap_outs[0].sequence == low);
  s.finish();
  BOOST_CHECK_EQUAL(s.sched.preempted(), 1u);
  BOOST_CHECK(s.sampled(low) == alone(counting(5, 20), 4));
  BOOST_CHECK(s.sampled(urgent) == alone(counting(5, 30), 4));
}

BOOST_AUTO_TEST_CASE(the_last_in_order_is_preempted_whatever_the_preemption_policy) {
  for (const bool lowest_first : {false, true}) {
    served s(at_once(2), by_priority(time(100)), largest());
    const auto first = ask(s, lowest_first ? 0 : 1, 10, lowest_first ? 4 : 40);
    s.step();
    const auto other = ask(s, lowest_first ? 1 : 0, 20, lowest_first ? 40 : 4);
    s.step();
    const auto urgent = ask(s, 2, 30);
    const auto plan = s.step();
    BOOST_CHECK(row_of(plan, urgent) && row_of(plan, lowest_first ? other : first));
    BOOST_CHECK(!s.sched.scheduled(lowest_first ? first : other));
  }
}

BOOST_AUTO_TEST_CASE(no_run_is_displaced_by_an_equal_or_beyond_the_boost_or_without_need) {
  served s(at_once(1), by_priority(time(100)));
  const auto runs = ask(s, 1, 10, 40);
  s.step();
  ask(s, 1, 20);
  BOOST_CHECK(row_of(s.step(), runs));
  s.sched.advance_clock(time(101));
  ask(s, 2, 30);
  BOOST_CHECK(row_of(s.step(), runs));
  BOOST_CHECK_EQUAL(s.sched.preempted(), 0u);
  served roomy_one(at_once(2), by_priority(time(100)));
  const auto first = ask(roomy_one, 0, 10);
  roomy_one.step();
  ask(roomy_one, 2, 20);
  BOOST_CHECK(row_of(roomy_one.step(), first));
}

BOOST_AUTO_TEST_CASE(runs_in_order_displace_no_run) {
  for (auto* policy : {&fcfs, &earliest_deadline_first}) {
    served s(at_once(1), (*policy)());
    const auto runs = ask(s, 0, 10);
    s.step();
    ask(s, 5, 20);
    BOOST_CHECK(row_of(s.step(), runs));
  }
}

BOOST_AUTO_TEST_CASE(one_that_is_displaced_and_finds_no_room_runs_its_tokens_again) {
  auto within = at_once(1);
  within.swap_bytes = 0;
  served s(within, by_priority(time(100)));
  const auto low = ask(s, 0, 10);
  s.step();
  const auto urgent = ask(s, 1, 20);
  BOOST_CHECK(row_of(s.step(), urgent));
  s.finish();
  BOOST_CHECK(s.sampled(low) == alone(counting(5, 10), 4));
  BOOST_CHECK_EQUAL(s.sched.swapped_out(), 0u);
}

BOOST_AUTO_TEST_CASE(rows_in_flight_are_waited_for) {
  auto within = at_once(1);
  within.depth = 2;
  served s(within, by_priority(time(100)));
  const auto low = ask(s, 0, 10);
  s.launch();
  const auto urgent = ask(s, 1, 20);
  BOOST_CHECK(!row_of(s.launch(), urgent));
  s.absorb();
  s.absorb();
  BOOST_CHECK(row_of(s.step(), urgent));
  s.finish();
  BOOST_CHECK(s.sampled(low) == alone(counting(5, 10), 4));
}

BOOST_AUTO_TEST_CASE(one_that_follows_and_is_displaced_follows_no_more) {
  auto within = at_once(2);
  within.prefix_caching = true;
  within.max_batched_tokens = 8;
  served s(within, by_priority(time(100)));
  s.sched.submit({}, {counting(14), output::last_logits});
  s.step();
  const auto follower = s.sched.submit({.max_new_tokens = 2}, {counting(19), output::sample, 2});
  s.step();
  BOOST_CHECK(s.sched.awaits_prefix(follower));
  const auto urgent = ask(s, 5, 50);
  BOOST_CHECK_EQUAL(s.step().swap_outs.size(), 1);
  BOOST_CHECK(!s.sched.awaits_prefix(follower));
  s.finish();
  BOOST_CHECK(s.sampled(follower) == alone(counting(19), 2));
  BOOST_CHECK(s.sampled(urgent) == alone(counting(5, 50), 4));
}

BOOST_AUTO_TEST_CASE(what_one_that_is_displaced_had_still_to_be_fed_is_not_charged) {
  for (const std::int64_t room : {0, 1'000'000}) {
    received charged;
    auto within = at_once(1);
    within.swap_bytes = room;
    within.max_batched_tokens = 8;
    served s(within, std::make_unique<ranks>(charged));
    s.sched.submit({}, {counting(20), output::last_logits});
    s.step();
    BOOST_CHECK_EQUAL(charged.owed, 12);
    ask(s, 5, 50);
    s.step();
    BOOST_CHECK_EQUAL(s.sched.preempted(), 1);
    s.finish();
    BOOST_CHECK_EQUAL(charged.owed, 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
