#include "simulation/program.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <stdexcept>

namespace cogen::simulation {
namespace {

BOOST_AUTO_TEST_SUITE(shrinking)

std::vector<int> counting(int count) { return whole_script(0, count).actions; }

bool holds_in_order(const std::vector<int>& items, const std::vector<int>& some) {
  auto rest = items.begin();
  for (const int each : some) {
    rest = std::find(rest, items.end(), each);
    if (rest == items.end()) return false;
  }
  return true;
}

BOOST_AUTO_TEST_CASE(only_what_the_failure_needs_is_left) {
  const std::vector<std::vector<int>> needed = {{0}, {299}, {17, 18}, {3, 90, 250}, {0, 1, 2, 150, 297, 298, 299}};
  for (const auto& each : needed) {
    int tries = 0;
    const auto left = shrunk(counting(300), [&](const std::vector<int>& items) {
      ++tries;
      return holds_in_order(items, each);
    });
    BOOST_TEST(left == each, boost::test_tools::per_element());
    BOOST_TEST(tries < 400);
  }
}

BOOST_AUTO_TEST_CASE(no_item_of_what_is_left_can_be_left_out) {
  const auto fails = [](const std::vector<int>& items) {
    return items.size() % 7 == 2 && std::ranges::count_if(items, [](int item) { return item % 3 == 0; }) > 4;
  };
  const auto left = shrunk(counting(100), fails);
  BOOST_TEST(fails(left));
  for (std::size_t i = 0; i < left.size(); ++i) {
    auto rest = left;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    BOOST_TEST(!fails(rest));
  }
}

BOOST_AUTO_TEST_CASE(a_failure_that_needs_nothing_leaves_nothing) {
  BOOST_TEST(shrunk(counting(9), [](const auto&) { return true; }).empty());
  BOOST_TEST(shrunk(std::vector<int>(), [](const auto&) { return true; }).empty());
}

/// A till that breaks when more is taken out of it than was put in.
struct unseen {};

void play_till(const script& script, unseen&, const log&) {
  int held = 30;
  for (const int action : script.actions) held += numbers_of(script.seed, action).between(-20, 20);
  if (held < -200) throw std::logic_error("the till holds " + std::to_string(held));
}

BOOST_AUTO_TEST_CASE(a_long_failing_history_becomes_a_short_one_in_which_every_action_counts) {
  const program<unseen> till{"till", "", [](std::uint64_t) { return 5000; }, play_till};
  unseen none;
  std::uint64_t seed = 1;
  const auto fails = [&](const script& script) {
    try {
      till.play(script, none, {});
    } catch (const std::logic_error&) {
      return true;
    }
    return false;
  };
  while (!fails(whole_script(seed, 5000))) ++seed;
  const auto left = shortest_failing(till, whole_script(seed, 5000));
  BOOST_TEST(fails(left));
  BOOST_TEST(left.actions.size() < 40u);
  for (const int action : left.actions) BOOST_TEST(numbers_of(seed, action).between(-20, 20) < 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(scripts)

BOOST_AUTO_TEST_CASE(an_action_samples_the_same_in_any_history) {
  std::vector<std::uint64_t> sampled;
  for (const std::uint64_t seed : {1, 2})
    for (int action = -1; action < 100; ++action) {
      BOOST_TEST(numbers_of(seed, action).next() == numbers_of(seed, action).next());
      sampled.push_back(numbers_of(seed, action).next());
    }
  std::ranges::sort(sampled);
  BOOST_TEST((std::ranges::adjacent_find(sampled) == sampled.end()));
}

BOOST_AUTO_TEST_CASE(the_command_line_is_read_and_refused_with_a_sentence) {
  const char* asked[] = {"simulate", "--seed", "7", "--actions", "3,17,40"};
  const auto read = parse(5, asked);
  BOOST_TEST(*read.replay == 7u);
  BOOST_TEST(read.actions == (std::vector<int>{3, 17, 40}), boost::test_tools::per_element());
  const auto refused = [](std::vector<const char*> arguments, std::string_view word) {
    arguments.insert(arguments.begin(), "simulate");
    BOOST_CHECK_EXCEPTION(parse(static_cast<int>(arguments.size()), arguments.data()), std::invalid_argument,
                          [&](const auto& e) { return std::string_view(e.what()).find(word) != std::string::npos; });
  };
  refused({"--seeds"}, "needs a number");
  refused({"--seeds", "1x"}, "1x");
  refused({"--actions", "1,,2"}, "--actions");
  refused({"--jobs", "0"}, "between 1 and 1024");
  refused({"--sede", "1"}, "--sede");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::simulation
