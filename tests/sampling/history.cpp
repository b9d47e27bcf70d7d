#include "sampling/random_stream.hpp"
#include "sampling/token_history.hpp"
#include "scheduler/no_memory.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <new>

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

BOOST_AUTO_TEST_CASE(counts_refused_memory_are_right_the_next_time) {
  const auto count_with = [](int allowed) {
    token_history history;
    for (token id = 0; id < 80; ++id) history.append_given(std::vector<token>{id, 3});
    try {
      const scheduler::no_memory refused(allowed);
      history.counts();
    } catch (const std::bad_alloc&) {
    }
    return counts_of(history);
  };
  const auto right = count_with(1000);
  BOOST_TEST(right.size() == 80U);
  for (int allowed = 0; allowed < 12; ++allowed) BOOST_TEST((count_with(allowed) == right), allowed << " allocations");
}

BOOST_AUTO_TEST_CASE(an_append_refused_memory_changes_nothing) {
  for (int allowed = 0; allowed < 4; ++allowed) {
    token_history history;
    plain_history plain;
    for (token id = 0; id < 300; ++id) {
      history.counts();
      try {
        {
          const scheduler::no_memory refused(allowed);
          history.append_generated(id);
        }
        plain.tokens.emplace_back(id, true);
      } catch (const std::bad_alloc&) {
      }
      BOOST_REQUIRE_EQUAL(history.length(), plain.tokens.size());
      BOOST_REQUIRE_EQUAL(history.generated(), plain.tokens.size());
      BOOST_REQUIRE(counts_of(history) == plain.count());
    }
  }
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

BOOST_AUTO_TEST_CASE(a_history_stores_no_token_that_the_scheduler_has) {
  scheduler::token_list planned(std::vector<token>{5, 7, 5});
  token_history history;
  history.extend(planned);
  const auto shared = [&] { return history.tokens().data() == planned.data(); };
  for (token id = 0; id < 100; ++id) {  // either may be first with a sampled token
    if (id % 2 == 0) planned.push_back(id);
    history.append_generated(id);
    if (id % 2 != 0) planned.push_back(id);
    BOOST_REQUIRE(shared());
  }
  for (token id = 200; id < 203; ++id) {  // each goes on from less in another way
    planned.truncate(10);
    history.truncate(10);
    planned.append(std::vector{id, id});
    history.extend(planned);
    BOOST_TEST(shared());
  }
  BOOST_TEST(history.generated() == 7U);
  BOOST_TEST(history.length() == 12U);
  BOOST_TEST((counts_of(history) == counts{{0, {1, 1}},
                                           {1, {1, 1}},
                                           {2, {1, 1}},
                                           {3, {1, 1}},
                                           {4, {1, 1}},
                                           {5, {3, 1}},
                                           {6, {1, 1}},
                                           {7, {1, 0}},
                                           {202, {2, 0}}}));
}

BOOST_AUTO_TEST_CASE(a_history_one_token_ahead_keeps_it) {
  scheduler::token_list planned(std::vector<token>(15, 4));
  token_history history;
  history.extend(planned);
  history.append_generated(8);
  for (token id = 9; id < 60; ++id) {
    history.append_generated(id);
    planned.push_back(id - 1);
    BOOST_REQUIRE_EQUAL(history.tokens().back(), id);
    BOOST_REQUIRE_EQUAL(*(planned.end() - 1), id - 1);
  }
  planned.push_back(59);
  BOOST_TEST(history.tokens().data() == planned.data());
}

BOOST_AUTO_TEST_CASE(a_restored_history_knows_which_tokens_were_generated) {
  const scheduler::token_list saved(std::vector<token>{5, 7, 5});
  token_history history(saved, {0, 1, 1});
  BOOST_TEST(history.tokens().data() == saved.data());
  BOOST_TEST(history.generated() == 2U);
  BOOST_TEST((counts_of(history) == counts{{5, {2, 1}}, {7, {1, 1}}}));
}

BOOST_AUTO_TEST_SUITE_END()
