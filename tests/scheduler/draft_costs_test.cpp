// What draft tokens add to the times of steps.
#include "draft_costs.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

namespace cogen::scheduler {

BOOST_AUTO_TEST_SUITE(draft_times)
namespace {

using std::chrono::nanoseconds;

/// A machine that spends a fixed time on each step, and more on each row and each draft token.
struct machine {
  double step, row, draft;

  double time(std::int64_t rows, std::int64_t drafts) const {
    return step + row * static_cast<double>(rows) + draft * static_cast<double>(drafts);
  }
};

nanoseconds whole(double time) { return nanoseconds(static_cast<std::int64_t>(time)); }

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_is_known_before_the_first_step) {
  const auto costs = draft_costs().predict(4);
  BOOST_TEST(costs.row == 0);
  BOOST_TEST(costs.draft == 0);
}

BOOST_AUTO_TEST_CASE(drafts_are_free_until_they_are_measured_and_rows_are_measured_first) {
  draft_costs costs;
  costs.took(4, 8, whole(5000));
  BOOST_TEST(std::isinf(costs.predict(4).draft));
  costs.took(4, 0, whole(4000));
  BOOST_TEST(costs.predict(4).draft == 0);
  costs.took(4, 8, whole(4800));
  BOOST_TEST(costs.predict(4).draft > 50);
  BOOST_TEST(costs.predict(64).draft == 0);  // another number of rows
}

BOOST_AUTO_TEST_CASE(what_was_not_measured_lately_is_measured_again) {
  draft_costs costs;
  costs.took(2, 0, whole(1000));
  costs.took(2, 8, whole(1800));
  for (int i = 0; i < 600; ++i) costs.took(2, 0, whole(1000));
  BOOST_TEST(costs.predict(2).draft == 0);
  for (int i = 0; i < 600; ++i) costs.took(2, 8, whole(1800));
  BOOST_TEST(std::isinf(costs.predict(2).draft));
}

BOOST_AUTO_TEST_CASE(a_machine_that_becomes_slower_is_followed) {
  const machine fast{2000, 500, 200}, after{6000, 1500, 600};
  draft_costs costs;
  std::mt19937 random(3);
  for (const auto* now : {&fast, &after})
    for (int i = 0; i < 400; ++i) {
      const auto drafts = static_cast<std::int64_t>(random() % 9);
      costs.took(4, drafts, whole(now->time(4, drafts)));
    }
  BOOST_TEST(costs.predict(4).row == after.time(4, 0) / 4, boost::test_tools::tolerance(0.1));
  BOOST_TEST(costs.predict(4).draft == after.draft, boost::test_tools::tolerance(0.15));
}

BOOST_DATA_TEST_CASE(steps_that_are_held_up_change_little, boost::unit_test::data::make({1, 4, 8, 32}), rows) {
  const machine truth{2000, 600, 350};
  draft_costs costs;
  std::mt19937 random(static_cast<unsigned>(rows));
  std::uniform_real_distribution<double> noise(0.85, 1.15);
  double sum = 0;
  int estimates = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto drafts = static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * rows + 1));
    const double held_up = random() % 50 == 0 ? 6 : 1;
    costs.took(rows, drafts, whole(held_up * noise(random) * truth.time(rows, drafts)));
    if (i < 500) continue;
    sum += costs.predict(rows).draft;
    ++estimates;
  }
  // A share of 0.02 of the steps takes 6 times as long.
  BOOST_TEST(sum / estimates > 0.6 * truth.draft);
  BOOST_TEST(sum / estimates < 1.5 * truth.draft);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::scheduler
