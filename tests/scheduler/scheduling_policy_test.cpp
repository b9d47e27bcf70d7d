#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

namespace cogen::scheduler {
namespace {

class fewest_tokens final : public scheduling_policy {
 public:
  bool precedes(const candidate& a, const candidate& b) const noexcept override { return a.tokens < b.tokens; }
};

/// Keeps what it has seen of each sequence.
class curious final : public scheduling_policy {
 public:
  explicit curious(std::map<sequence_id, candidate>& seen) : seen_(seen) {}

  bool precedes(const candidate& a, const candidate& b) const noexcept override {
    for (const auto* compared : {&a, &b}) seen_[compared->sequence] = *compared;
    return false;
  }

 private:
  std::map<sequence_id, candidate>& seen_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_order_of_ones_own_decides_who_gets_a_slot_and_who_is_prefilled) {
  auto within = roomy();
  within.slots = 2;
  within.max_batched_tokens = 8;
  scheduler sched(within, std::make_unique<fewest_tokens>());
  const auto longest = sched.submit({}, {counting(30), output::last_logits});
  const auto middle = sched.submit({}, {counting(20), output::last_logits});
  const auto shortest = sched.submit({}, {counting(10), output::last_logits});
  auto step = sched.next();
  BOOST_REQUIRE_EQUAL(step.rows.size(), 1);
  BOOST_CHECK(step.rows[0].sequence == shortest);
  BOOST_CHECK(sched.phase_of(longest) == phase::waiting);
  sched.absorb(step);
  step = sched.next();
  BOOST_REQUIRE_EQUAL(step.rows.size(), 2);
  BOOST_CHECK(step.rows[0].sequence == shortest);
  BOOST_CHECK(step.rows[1].sequence == middle);
  BOOST_CHECK_EQUAL(step.rows[1].count, 6);
}

BOOST_AUTO_TEST_CASE(an_order_sees_what_a_run_was_asked_with_and_what_is_left_of_it) {
  std::map<sequence_id, candidate> seen;
  auto within = roomy();
  within.max_batched_tokens = 4;
  scheduler sched(within, std::make_unique<curious>(seen));
  sched.submit({}, {counting(9), output::last_logits});
  sched.advance_clock(time(7));
  const auto id = sched.submit({.max_new_tokens = 5, .priority = 3, .tenant = 8, .deadline = time(70)},
                               {counting(6), output::sample, 100});
  const auto last = sched.submit({}, {counting(6), output::sample, 100, 3});
  BOOST_CHECK_EQUAL(seen[id].arrival, 2);
  BOOST_CHECK(seen[id].asked == time(7));
  BOOST_CHECK(seen[id].deadline == time(70));
  BOOST_CHECK_EQUAL(seen[id].tokens, 6);
  BOOST_CHECK_EQUAL(seen[id].most, 6 + 4);
  BOOST_CHECK_EQUAL(seen[id].priority, 3);
  BOOST_CHECK_EQUAL(seen[id].tenant, 8);
  BOOST_CHECK_EQUAL(seen[last].most, 6 + 2);
  BOOST_CHECK(seen[last].deadline == time::max());
  auto step = sched.next(time(9));
  sched.absorb(step);
  const auto first = sequence_id{1};
  BOOST_CHECK_EQUAL(seen[first].tokens, 5);
  BOOST_CHECK_EQUAL(seen[first].most, 5);
  BOOST_CHECK(seen[first].asked == time());
}

BOOST_AUTO_TEST_CASE(equal_candidates_are_served_by_arrival) {
  auto within = roomy();
  within.slots = 3;
  scheduler sched(within, std::make_unique<fewest_tokens>());
  std::vector<sequence_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(sched.submit({}, {counting(4), output::last_logits}));
  const auto step = sched.next();
  BOOST_REQUIRE_EQUAL(step.rows.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) BOOST_CHECK(step.rows[i].sequence == ids[i]);
  BOOST_CHECK_EQUAL(sched.waiting(), 2);
}

}  // namespace cogen::scheduler
