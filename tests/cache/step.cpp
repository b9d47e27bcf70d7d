#include "says.hpp"

#include <cogen/detail/cache/step.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(steps)

BOOST_AUTO_TEST_CASE(rows_lie_one_after_the_other) {
  const step step({{.slot = 4, .count = 3}, {.slot = 0, .count = 1}, {.slot = 2, .count = 70}});
  BOOST_TEST(step.tokens() == 74);
  BOOST_TEST(step.first(0) == 0);
  BOOST_TEST(step.first(1) == 3);
  BOOST_TEST(step.first(2) == 4);
  BOOST_TEST(step.rows().size() == 3);
  BOOST_TEST(step.rows()[2].slot == 2);
}

BOOST_AUTO_TEST_CASE(an_empty_step_has_no_tokens) {
  BOOST_TEST(step().tokens() == 0);
  BOOST_TEST(step(std::vector<step_row>{}).rows().empty());
}

BOOST_AUTO_TEST_CASE(wrong_rows_are_named) {
  const auto make = [](std::vector<step_row> rows) { return step(std::move(rows)); };
  BOOST_CHECK_EXCEPTION(make({{.slot = 0, .count = 1}, {.slot = -2, .count = 1}}), std::invalid_argument,
                        says({"row 1", "slot -2"}));
  BOOST_CHECK_EXCEPTION(make({{.slot = 5, .count = 0}}), std::invalid_argument, says({"row 0", "0 tokens", "slot 5"}));
  BOOST_CHECK_EXCEPTION(make({{.slot = 5, .count = -1}}), std::invalid_argument, says({"row 0", "-1 tokens"}));
  BOOST_CHECK_EXCEPTION(make({{.slot = 3, .count = 1}, {.slot = 1, .count = 1}, {.slot = 3, .count = 2}}),
                        std::invalid_argument, says({"slot 3", "two rows"}));
  BOOST_CHECK_EXCEPTION(make({{.slot = 3, .count = 2, .drafts = 2}}), std::invalid_argument,
                        says({"row 0", "2 draft tokens", "2 of slot 3"}));
  BOOST_CHECK_EXCEPTION(make({{.slot = 3, .count = 2, .drafts = -1}}), std::invalid_argument,
                        says({"-1 draft tokens"}));
}

BOOST_AUTO_TEST_CASE(tokens_that_no_int_can_count_are_refused) {
  constexpr int most = std::numeric_limits<int>::max();
  BOOST_TEST(step({{.slot = 0, .count = most}}).tokens() == most);
  const auto make = [] { return step({{.slot = 0, .count = most}, {.slot = 1, .count = 1}}); };
  BOOST_CHECK_EXCEPTION(make(), std::length_error, says({"row 1", "2147483647"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
