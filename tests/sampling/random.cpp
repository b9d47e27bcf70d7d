#include "sampling/philox.hpp"
#include "sampling/random_stream.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace cogen;

BOOST_AUTO_TEST_SUITE(sampling_random)

// The vectors that Random123 publishes for philox4x32 with 10 rounds.
BOOST_AUTO_TEST_CASE(philox_gives_the_published_answers) {
  constexpr std::uint32_t ones = 0xffffffff;
  const philox_counter zero{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const philox_counter full{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  const philox_counter pi{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  BOOST_TEST(philox4x32_10({0, 0, 0, 0}, {0, 0}) == zero, boost::test_tools::per_element());
  BOOST_TEST(philox4x32_10({ones, ones, ones, ones}, {ones, ones}) == full, boost::test_tools::per_element());
  BOOST_TEST(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) == pi,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(uniform_numbers_lie_in_the_half_open_unit_interval_evenly) {
  constexpr std::uint32_t count = 200000;
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double u = uniform({5, 0, i, 0});
    BOOST_REQUIRE(u >= 0);
    BOOST_REQUIRE(u < 1);
    sum += u;
    squares += u * u;
  }
  BOOST_TEST(std::abs(sum / count - 1.0 / 2) < 0.002);
  BOOST_TEST(std::abs(squares / count - 1.0 / 3) < 0.002);
}

BOOST_AUTO_TEST_CASE(each_part_of_a_key_changes_the_number) {
  const std::uint64_t high = std::uint64_t{1} << 40;
  std::set<double> numbers;
  for (const sampling_key& key : {sampling_key{1, 2, 3, 4},
                                  {2, 2, 3, 4},
                                  {1 + high, 2, 3, 4},
                                  {1, 3, 3, 4},
                                  {1, 2 + high, 3, 4},
                                  {1, 2, 4, 4},
                                  {1, 2, 3, 5}})
    numbers.insert(uniform(key));
  BOOST_TEST(numbers.size() == 7U);
}

BOOST_AUTO_TEST_CASE(a_fork_has_its_own_branch_and_leaves_its_parent_as_it_was) {
  random_stream parent(9);
  const auto key = parent.key(4);
  const auto first = parent.fork();
  const auto second = parent.fork();
  BOOST_TEST(uniform(key) == uniform(parent.key(4)));
  BOOST_TEST(first.seed() == 9U);
  std::set<std::uint64_t> branches{parent.branch(), first.branch(), second.branch()};
  BOOST_TEST(branches.size() == 3U);
}

BOOST_AUTO_TEST_CASE(branches_of_a_whole_family_are_different_and_come_out_the_same_again) {
  const auto family = [] {
    std::vector<random_stream> members{random_stream(1)};
    for (std::size_t i = 0; i < 40; ++i)
      for (int child = 0; child < 25; ++child) members.push_back(members[i].fork());
    std::vector<std::uint64_t> branches;
    for (const auto& member : members) branches.push_back(member.branch());
    return branches;
  };
  const auto branches = family();
  BOOST_TEST(branches == family(), boost::test_tools::per_element());
  BOOST_TEST(std::set<std::uint64_t>(branches.begin(), branches.end()).size() == branches.size());
}

BOOST_AUTO_TEST_CASE(reseeding_begins_again_as_a_new_stream) {
  random_stream stream = random_stream(1).fork();
  stream.reseed(77);
  BOOST_TEST(stream.seed() == 77U);
  BOOST_TEST(stream.branch() == random_stream(77).branch());
  BOOST_TEST(stream.fork().branch() == random_stream(77).fork().branch());
}

BOOST_AUTO_TEST_SUITE_END()
