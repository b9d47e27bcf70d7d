#include "sampling/random_stream.hpp"
#include "sampling/token_history.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

using namespace cogen;

namespace {

using counts = std::map<token, std::pair<std::uint32_t, std::uint32_t>>;

counts counts_of(token_history& history) {
  counts found;
  for (const auto& each : history.counts())
    if (each.total > 0) BOOST_TEST(found.emplace(each.id, std::pair(each.total, each.generated)).second);
  return found;
}

/// The same bookkeeping done the slow way.
struct plain_history {
  std::vector<std::pair<token, bool>> tokens;

  counts count() const {
    counts found;
    for (const auto& [id, generated] : tokens) {
      ++found[id].first;
      found[id].second += generated ? 1 : 0;
    }
    return found;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(sampling_history)

BOOST_AUTO_TEST_CASE(given_and_generated_tokens_are_distinguished) {
  token_history history;
  history.append_given(std::vector<token>{5, 7, 5});
  history.append_generated(7);
  history.append_given(std::vector<token>{8});
  BOOST_TEST(history.length() == 5U);
  BOOST_TEST(history.generated() == 1U);
  BOOST_TEST((counts_of(history) == counts{{5, {2, 0}}, {7, {2, 1}}, {8, {1, 0}}}));
}

BOOST_AUTO_TEST_CASE(counts_follow_any_history_of_appends_truncations_and_forks) {
  token_history history;
  plain_history plain;
  for (std::uint32_t step = 0; step < 3000; ++step) {
    const auto choice = uniform({1, 0, step, 0});
    const auto id = static_cast<token>(uniform({1, 0, step, 1}) * 400) - 5;
    if (choice < 0.45) {
      history.append_generated(id);
      plain.tokens.emplace_back(id, true);
    } else if (choice < 0.9) {
      history.append_given(std::vector<token>{id, id + 1});
      plain.tokens.insert(plain.tokens.end(), {{id, false}, {id + 1, false}});
    } else {
      const auto length = static_cast<std::size_t>(static_cast<double>(plain.tokens.size()) * (0.7 + choice / 3));
      history.truncate(length);
      if (length < plain.tokens.size()) plain.tokens.resize(length);
    }
    if (step == 50 || step > 2900) {
      BOOST_REQUIRE(counts_of(history) == plain.count());
      token_history fork = history;
      fork.append_generated(1);
      BOOST_REQUIRE(counts_of(history) == plain.count());
      BOOST_REQUIRE_EQUAL(fork.length(), plain.tokens.size() + 1);
    }
  }
  BOOST_TEST(history.length() == plain.tokens.size());
}

BOOST_AUTO_TEST_CASE(truncating_beyond_the_end_changes_nothing_and_to_nothing_empties) {
  token_history history;
  history.append_given(std::vector<token>{1, 2});
  history.truncate(9);
  BOOST_TEST(history.length() == 2U);
  history.truncate(0);
  BOOST_TEST(history.length() == 0U);
  BOOST_TEST(counts_of(history).empty());
}

BOOST_AUTO_TEST_SUITE_END()
