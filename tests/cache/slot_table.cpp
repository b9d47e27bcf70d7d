#include "says.hpp"

#include <cogen/detail/cache/slot_table.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(slot_tables)

BOOST_AUTO_TEST_CASE(lengths_lie_together_at_one_address) {
  slot_table table(3);
  const std::int32_t* address = table.lengths().data();
  table.advance(step({{.slot = 2, .count = 5}, {.slot = 0, .count = 1}}));
  table.advance(step({{.slot = 2, .count = 70}}));
  BOOST_TEST(table.lengths().data() == address);
  BOOST_TEST(table.lengths()[0] == 1);
  BOOST_TEST(table.lengths()[1] == 0);
  BOOST_TEST(table.lengths()[2] == 75);
}

BOOST_AUTO_TEST_CASE(the_longest_reader_pins) {
  slot_table table(4);
  table.set_length(0, 200);
  table.set_parent(1, {.slot = 0, .length = 64});
  table.set_parent(2, {.slot = 0, .length = 128});
  BOOST_TEST(table.pinned(0) == 128);
  BOOST_TEST(table.pinned(1) == 0);
  table.set_length(2, 0);
  BOOST_TEST(table.pinned(0) == 64);
  table.set_length(1, 0);
  BOOST_TEST(table.pinned(0) == 0);
}

BOOST_AUTO_TEST_CASE(a_base_shrinks_by_whole_blocks) {
  slot_table table(2);
  table.set_length(0, 200);
  table.set_parent(1, {.slot = 0, .length = 128});
  table.set_length(1, 150);
  BOOST_TEST(table.parent(1).length == 128);
  table.set_length(1, 100);
  BOOST_TEST(table.parent(1).length == 64);
  BOOST_TEST(table.length(1) == 100);
  table.set_length(1, 63);
  BOOST_TEST(table.parent(1).length == 0);
  BOOST_TEST(table.parent(1).slot == -1);
}

BOOST_AUTO_TEST_CASE(a_slot_that_does_not_exist_is_named) {
  slot_table table(2);
  BOOST_CHECK_EXCEPTION(table.length(2), std::out_of_range, says({"slot 2", "there are 2"}));
  BOOST_CHECK_EXCEPTION(table.parent(-1), std::out_of_range, says({"slot -1"}));
  BOOST_CHECK_EXCEPTION(table.advance(step({{.slot = 0, .count = 1}, {.slot = 7, .count = 1}})), std::out_of_range,
                        says({"slot 7"}));
  BOOST_TEST(table.length(0) == 0);
  BOOST_CHECK_EXCEPTION(slot_table(0), std::invalid_argument, says({"0 slots"}));
  BOOST_CHECK_EXCEPTION(slot_table(-3), std::invalid_argument, says({"-3 slots"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
