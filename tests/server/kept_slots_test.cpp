#include "kept_slots.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace {

using server::kept_slots;

BOOST_AUTO_TEST_SUITE(slots_of_keys)

BOOST_AUTO_TEST_CASE(a_key_has_slots_of_its_own) {
  kept_slots kept;
  kept.keep(1, 7, {1, 2});
  BOOST_TEST(!kept.find(2, 7).has_value());
  kept.extend(2, 7, std::vector{9});
  kept.erase(2, 7);
  BOOST_TEST(!kept.find(2, 7).has_value());
  kept.keep(2, 7, {5});
  kept.extend(1, 7, std::vector{3});
  BOOST_TEST((*kept.find(1, 7) == kept_slots::token_ids{1, 2, 3}));
  BOOST_TEST((*kept.find(2, 7) == kept_slots::token_ids{5}));
  kept.erase(1, 7);
  BOOST_TEST(!kept.find(1, 7).has_value());
  BOOST_TEST(kept.find(2, 7).has_value());
}

BOOST_AUTO_TEST_CASE(the_least_recently_used_slots_of_a_key_go_first) {
  kept_slots kept;
  kept.keep(2, 0, {1});
  for (int id = 0; id < static_cast<int>(kept_slots::max_slots); ++id) kept.keep(1, id, {id});
  BOOST_TEST(kept.find(1, 0).has_value());
  kept.extend(1, 1, std::vector{5});
  kept.keep(1, 1000, {5});
  kept.keep(1, 1000, {6});
  for (const int id : {0, 1, 3, 1000}) BOOST_TEST(kept.find(1, id).has_value());
  BOOST_TEST(!kept.find(1, 2).has_value());
  BOOST_TEST(kept.find(2, 0).has_value());
}

BOOST_AUTO_TEST_CASE(the_tokens_of_a_key_have_a_limit) {
  constexpr auto most = kept_slots::max_bytes / sizeof(cogen::token);
  kept_slots kept;
  kept.keep(1, 0, kept_slots::token_ids(most / 2));
  kept.keep(1, 1, kept_slots::token_ids(most / 2));
  BOOST_TEST(kept.find(1, 0).has_value());
  kept.extend(1, 0, std::vector{1});
  BOOST_TEST(!kept.find(1, 1).has_value());
  kept.extend(1, 0, kept_slots::token_ids(most));
  BOOST_TEST(!kept.find(1, 0).has_value());
  kept.keep(1, 2, kept_slots::token_ids(most + 1));
  BOOST_TEST(!kept.find(1, 2).has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
