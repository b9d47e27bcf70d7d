#include "scheduler/served.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::scheduler {
namespace {

class fewest_tokens final : public order {
 public:
  bool before(const candidate& a, const candidate& b) const noexcept override { return a.tokens < b.tokens; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_order_of_ones_own_decides_who_gets_a_slot_and_who_is_prefilled) {
  auto within = roomy();
  within.slots = 2;
  within.step_tokens = 8;
  scheduler machine(within, std::make_unique<fewest_tokens>());
  const auto longest = machine.submit({}, {counting(30), output::last_logits});
  const auto middle = machine.submit({}, {counting(20), output::last_logits});
  const auto shortest = machine.submit({}, {counting(10), output::last_logits});
  auto step = machine.next();
  BOOST_REQUIRE_EQUAL(step.rows.size(), 1);
  BOOST_CHECK(step.rows[0].sequence == shortest);
  BOOST_CHECK(machine.phase_of(longest) == phase::waiting);
  machine.absorb(step, std::vector<row_result>(1));
  step = machine.next();
  BOOST_REQUIRE_EQUAL(step.rows.size(), 2);
  BOOST_CHECK(step.rows[0].sequence == shortest);
  BOOST_CHECK(step.rows[1].sequence == middle);
  BOOST_CHECK_EQUAL(step.rows[1].count, 6);
}

BOOST_AUTO_TEST_CASE(equal_candidates_are_served_by_arrival) {
  auto within = roomy();
  within.slots = 3;
  scheduler machine(within, std::make_unique<fewest_tokens>());
  std::vector<sequence_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(machine.submit({}, {counting(4), output::last_logits}));
  const auto step = machine.next();
  BOOST_REQUIRE_EQUAL(step.rows.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) BOOST_CHECK(step.rows[i].sequence == ids[i]);
  BOOST_CHECK_EQUAL(machine.waiting(), 2);
}

}  // namespace cogen::scheduler
