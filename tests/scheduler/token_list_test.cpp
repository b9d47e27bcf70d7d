// Lists of tokens that share memory: none sees what another one does, and what all of them appended is stored once.
#include "prefix_tree.hpp"
#include "scheduler/no_memory.hpp"
#include "scheduler/served.hpp"
#include "simulation/random.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

namespace cogen::scheduler {
namespace {

std::vector<token> held(const token_list& list) { return {list.begin(), list.end()}; }

bool share(const token_list& a, const token_list& b) { return a.data() == b.data(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_list_finds_what_its_copy_appended_before) {
  token_list ahead(counting(3));
  auto behind = ahead;
  for (token id = 3; id < 200; ++id) {
    ahead.push_back(id);
    if (id > 3) behind.push_back(id - 1);
    BOOST_REQUIRE(share(ahead, behind) || ahead.size() == behind.size() + 1);
  }
  behind.push_back(199);
  BOOST_TEST(share(ahead, behind));
  BOOST_TEST(held(behind) == counting(200), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_list_cut_and_continued_otherwise_leaves_its_copies_as_they_are) {
  const token_list whole(counting(10));
  auto cut = whole;
  const auto* const data = whole.data();
  cut.truncate(6);
  cut.append(std::vector{6, 50, 51});
  BOOST_TEST(held(cut) == joined(counting(7), {50, 51}), boost::test_tools::per_element());
  BOOST_TEST(held(whole) == counting(10), boost::test_tools::per_element());
  BOOST_TEST(whole.data() == data);
}

BOOST_AUTO_TEST_CASE(copies_that_part_from_a_third_alike_share_their_memory) {
  const token_list whole(counting(10));
  auto first = whole.first(6), second = whole.first(6);
  first.append(std::vector{50, 51});
  second.append(std::vector{50, 51});
  BOOST_TEST(share(first, second));
  BOOST_TEST(!share(first, whole));
  auto third = whole.first(6);
  third.push_back(60);
  BOOST_TEST(held(third) == joined(counting(6), {60}), boost::test_tools::per_element());
  BOOST_TEST(held(second) == joined(counting(6), {50, 51}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(where_a_copy_went_on_that_is_gone_no_other_follows) {
  const token_list whole(counting(10));
  auto kept = whole.first(5);
  {
    auto gone = whole.first(5);
    gone.push_back(50);
  }
  kept.push_back(51);
  BOOST_TEST(held(kept) == joined(counting(5), {51}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_list_can_append_its_own_tokens) {
  token_list list(counting(16));
  list.append(list);
  BOOST_TEST(held(list) == joined(counting(16), counting(16)), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_list_without_memory_to_grow_is_unchanged) {
  token_list list(counting(16));
  const std::vector<token> more = counting(100, 16);
  {
    const no_memory none;
    BOOST_CHECK_THROW(list.push_back(16), std::bad_alloc);
    BOOST_CHECK_THROW(list.append(more), std::bad_alloc);
    auto cut = list;
    cut.truncate(4);
    BOOST_CHECK_THROW(cut.append(more), std::bad_alloc);
    BOOST_TEST(cut.size() == 4U);
  }
  BOOST_TEST(held(list) == counting(16), boost::test_tools::per_element());
  list.append(more);
  BOOST_TEST(held(list) == counting(116), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lists_that_share_memory_any_way_hold_what_vectors_would) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    simulation::random random(seed);
    std::vector<token_list> lists(5);
    std::vector<std::vector<token>> plain(5);
    for (int change = 0; change < 200; ++change) {
      const auto first = static_cast<std::size_t>(random.between(0, 4));
      const auto other = static_cast<std::size_t>(random.between(0, 4));
      if (random.chance(10)) {
        lists[first] = lists[other];
        plain[first] = plain[other];
      } else if (random.chance(20)) {
        const auto length = static_cast<std::size_t>(random.between(0, static_cast<int>(plain[first].size())));
        lists[first].truncate(length);
        plain[first].resize(length);
      } else {
        std::vector<token> more(static_cast<std::size_t>(random.chance(50) ? 1 : random.between(0, 20)));
        for (token& each : more) each = random.between(0, 1);
        lists[first].append(more);
        plain[first].insert(plain[first].end(), more.begin(), more.end());
      }
      for (std::size_t i = 0; i < lists.size(); ++i) BOOST_REQUIRE(held(lists[i]) == plain[i]);
    }
  }
}

// As with a stream, whose sampler appends a token on a thread of its own before the scheduler does, and is two ahead.
BOOST_AUTO_TEST_CASE(a_list_follows_its_copy_on_another_thread) {
  constexpr token count = 20'000;
  token_list ahead(counting(1));
  auto behind = ahead;
  std::atomic<token> appended = 1;
  std::atomic<token> followed = 1;
  std::thread sampler([&] {
    for (token next = 1; next < count; ++next) {
      while (followed.load() + 1 < next) std::this_thread::yield();
      ahead.push_back(next);
      appended.store(next + 1);
    }
  });
  bool right = true;
  for (token next = 1; next < count; ++next) {
    while (appended.load() <= next) std::this_thread::yield();
    behind.push_back(next);
    followed.store(next + 1);
    right = right && *(behind.end() - 1) == next && *behind.begin() == 0;
  }
  sampler.join();
  BOOST_TEST(right);
  BOOST_TEST(share(ahead, behind));
  BOOST_TEST(held(behind) == counting(count), boost::test_tools::per_element());
}

// Of sequences

BOOST_AUTO_TEST_CASE(tokens_of_a_sequence_stay_as_they_are_for_who_holds_a_copy) {
  served s(roomy());
  const auto id = prefilled(s, 10);
  const auto tokens = s.sched.tokens(id);
  s.sched.truncate(id, 6);
  s.sched.start(id, {{50, 51}, output::sample, 3, 3});
  s.finish();
  const auto after = s.sched.tokens(id);
  s.sched.cancel(id);
  BOOST_TEST(held(tokens) == counting(10), boost::test_tools::per_element());
  const auto fed = joined(counting(6), {50, 51});
  BOOST_TEST(held(after) == joined(fed, alone(fed, 3)), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fork_shares_its_tokens_until_it_goes_on_otherwise) {
  served s(roomy());
  const auto parent = prefilled(s, 20);
  s.sched.truncate(parent, 9);
  const auto child = s.sched.fork(parent);
  BOOST_TEST(share(s.sched.tokens(child), s.sched.tokens(parent)));
  s.sched.start(child, {{50}, output::last_logits});
  s.sched.start(parent, {{60}, output::last_logits});
  s.finish();
  check_continues(s, child, joined(counting(9), {50}));
  check_continues(s, parent, joined(counting(9), {60}));
}

BOOST_AUTO_TEST_CASE(a_preempted_sequence_runs_again_from_what_it_holds_since_it_was_cut) {
  served s(roomy());
  const auto id = prefilled(s, 10);
  const auto tokens = s.sched.tokens(id);
  s.sched.truncate(id, 6);
  s.sched.start(id, {{50, 51}, output::last_logits});
  s.finish();
  s.sched.suspend(id);
  s.finish();
  BOOST_TEST(!s.sched.scheduled(id));
  s.sched.truncate(id, 7);
  s.sched.start(id, {{60}, output::last_logits});
  const auto step = s.step();
  BOOST_TEST(tokens_of(step, id) == joined(counting(6), {50, 60}), boost::test_tools::per_element());
  check_continues(s, id, joined(counting(6), {50, 60}));
  BOOST_TEST(held(tokens) == counting(10), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(prefixes_that_are_kept_share_the_tokens_of_their_sequence) {
  prefix_tree known(1);
  token_list of_sequence(counting(40));
  known.hold(0, 0, of_sequence.first(30));
  of_sequence.append(counting(60, 40));
  {
    const no_memory none;
    known.cut(0, 25);
    known.extend(0, std::span(of_sequence).subspan(25, 10));
  }
  BOOST_TEST(held(known.tokens(0)) == counting(35), boost::test_tools::per_element());
}

}  // namespace cogen::scheduler
