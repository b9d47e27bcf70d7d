#include "formats/text/prompt_checkpoints.hpp"

#include <boost/test/unit_test.hpp>

namespace cogen::text {

BOOST_AUTO_TEST_SUITE(prompt_checkpoints_of)
namespace {

constexpr token end = 9;
constexpr token other_end = 8;

void check(const std::vector<token>& prompt, const std::vector<int>& expected, int previous = 0) {
  const auto lengths = prompt_checkpoints(prompt, std::vector{end, other_end}, previous);
  BOOST_TEST(lengths == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(are_the_first_message_and_the_last_two) {
  check({1, 1, end, 2, end, 3}, {3, 5});
  check({1, end, 2, end, 3, end, 4}, {2, 4, 6});
  check({1, end, 2, other_end, 3, end, 4, other_end, 5, end}, {2, 8, 10});
}

BOOST_AUTO_TEST_CASE(are_all_but_the_last_token_without_messages) {
  check({1, 2, 3}, {2});
  check({1}, {});
  check({}, {});
}

BOOST_AUTO_TEST_CASE(of_what_continues_a_text_are_the_ends_of_messages_alone) {
  check({1, end, 2}, {102}, 100);
  check({1, 2, 3}, {}, 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::text
