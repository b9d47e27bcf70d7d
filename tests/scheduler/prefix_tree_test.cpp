#include "scheduler/naive_prefixes.hpp"

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <numeric>
#include <set>
#include <string_view>

namespace cogen::scheduler {

std::ostream& operator<<(std::ostream& out, const prefix_match& match) {
  return out << "slot " << match.slot << ", length " << match.length << ", shared " << match.shared;
}

namespace {

/// A token for each letter.
token_list letters(std::string_view text) { return token_list(std::vector<token>(text.begin(), text.end())); }

std::string_view prompt = "you are a helpful assistant";

using kinds = boost::mpl::list<prefix_tree, naive_prefixes>;

/// Slots 0, 1, … hold these texts with cache salt 0.
template <class Prefixes>
Prefixes holding(std::initializer_list<std::string_view> texts) {
  Prefixes result(8);
  int slot = 0;
  for (const auto text : texts) result.hold(slot++, 0, letters(text));
  result.verify();
  return result;
}

template <class Prefixes>
prefix_match find(const Prefixes& in, std::string_view text, const usable_prefix& usable = {}) {
  in.verify();
  return in.find(0, letters(text), usable);
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(nothing_is_found_where_nothing_is_held, Prefixes, kinds) {
  const Prefixes held(3);
  BOOST_TEST(find(held, "abc") == prefix_match());
  BOOST_TEST(find(held, "") == prefix_match());
  BOOST_TEST(held.length(2) == 0);
  BOOST_TEST(held.tokens(2).empty());
  BOOST_TEST(held.shared(2) == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_slot_that_shares_most_is_found, Prefixes, kinds) {
  const auto held = holding<Prefixes>({"abxy", "abcxy", "abcd", "b", "abcde"});
  BOOST_TEST(find(held, "abcdxx") == (prefix_match{2, 4, 4}));
  BOOST_TEST(find(held, "abcdef") == (prefix_match{4, 5, 5}));
  BOOST_TEST(find(held, "abcxyz") == (prefix_match{1, 5, 5}));
  BOOST_TEST(find(held, "bbb") == (prefix_match{3, 1, 1}));
  BOOST_TEST(find(held, "ccc") == prefix_match());
  BOOST_TEST(find(held, "") == prefix_match());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(of_those_that_share_as_much_the_lowest_is_found, Prefixes, kinds) {
  const auto held = holding<Prefixes>({"q", "abz", "aba", "ab", "abz"});
  BOOST_TEST(find(held, "abm") == (prefix_match{1, 2, 2}));
  BOOST_TEST(find(held, "ab") == (prefix_match{1, 2, 2}));
  BOOST_TEST(find(held, "abzz") == (prefix_match{1, 3, 3}));
  BOOST_TEST(find(held, "abaa") == (prefix_match{2, 3, 3}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cache_salts_see_nothing_of_each_other, Prefixes, kinds) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  Prefixes held(4);
  held.hold(0, 0, letters("abcd"));
  held.hold(1, most, letters("abc"));
  held.hold(2, 7, letters("ab"));
  held.hold(3, 7, letters("abx"));
  held.verify();
  BOOST_TEST(held.find(0, letters("abcd")) == (prefix_match{0, 4, 4}));
  BOOST_TEST(held.find(most, letters("abcd")) == (prefix_match{1, 3, 3}));
  BOOST_TEST(held.find(7, letters("abcd")) == (prefix_match{2, 2, 2}));
  BOOST_TEST(held.find(8, letters("abcd")) == prefix_match());
  BOOST_TEST(held.shared(0) == 0);
  BOOST_TEST(held.shared(1) == 0);
  BOOST_TEST(held.shared(2) == 2);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(every_number_is_a_token, Prefixes, kinds) {
  constexpr auto least = std::numeric_limits<token>::min(), most = std::numeric_limits<token>::max();
  Prefixes held(4);
  held.hold(0, 0, token_list(std::vector{most, least}));
  held.hold(1, 0, token_list(std::vector{most}));
  held.hold(2, 0, token_list(std::vector{least, 0, -1}));
  held.hold(3, 0, token_list(std::vector{least, 0, most}));
  held.verify();
  BOOST_TEST(held.find(0, std::vector{most, most}) == (prefix_match{0, 1, 1}));
  BOOST_TEST(held.find(0, std::vector{least, 0, most}) == (prefix_match{3, 3, 3}));
  BOOST_TEST(held.find(0, std::vector{least, 0, 0}) == (prefix_match{2, 2, 2}));
}

// Tokens are compared many at a time: wherever they differ or end, no more and no fewer are shared.
BOOST_AUTO_TEST_CASE_TEMPLATE(any_length_may_be_shared, Prefixes, kinds) {
  std::vector<token> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  Prefixes held(2);
  held.hold(1, 0, token_list(tokens));
  for (int length = 0; length <= 100; ++length) {
    const auto wanted = length == 0 ? prefix_match() : prefix_match{1, length, length};
    const std::span first(tokens.data(), static_cast<std::size_t>(length));
    BOOST_TEST(held.find(0, first) == wanted);
    auto other = tokens;
    if (length < 100) other[static_cast<std::size_t>(length)] = 1000;
    BOOST_TEST(held.find(0, other) == wanted);
    held.hold(0, 0, token_list(first));
    held.verify();
    BOOST_TEST(held.shared(1) == length);
    held.forget(0);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_slot_that_goes_on_is_found_with_all_it_holds, Prefixes, kinds) {
  auto held = holding<Prefixes>({"ab", "abc", ""});
  held.extend(0, letters("cdef"));
  BOOST_TEST(find(held, "abcdefg") == (prefix_match{0, 6, 6}));
  held.extend(0, letters(""));
  BOOST_TEST(held.length(0) == 6);
  BOOST_TEST(find(held, "abcx") == (prefix_match{0, 3, 3}));
  held.extend(2, letters("b"));
  held.extend(2, letters("cc"));
  BOOST_TEST(find(held, "bccd") == (prefix_match{2, 3, 3}));
  BOOST_CHECK(std::ranges::equal(held.tokens(0), letters("abcdef")));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(slots_that_held_the_same_branch_off_one_after_another, Prefixes, kinds) {
  auto held = holding<Prefixes>({"ab", "ab", "ab", "ab", "ab"});
  held.extend(3, letters("mm"));
  BOOST_TEST(find(held, "abmm") == (prefix_match{3, 4, 4}));
  held.extend(0, letters("z"));
  held.extend(1, letters("c"));
  held.extend(4, letters("mz"));
  BOOST_TEST(find(held, "abmz") == (prefix_match{4, 4, 4}));
  BOOST_TEST(find(held, "abmx") == (prefix_match{3, 3, 3}));
  BOOST_TEST(find(held, "abc") == (prefix_match{1, 3, 3}));
  BOOST_TEST(find(held, "abz") == (prefix_match{0, 3, 3}));
  BOOST_TEST(find(held, "abx") == (prefix_match{0, 2, 2}));
  BOOST_TEST(held.shared(3) == 3);
  BOOST_TEST(held.shared(2) == 2);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(slots_that_go_on_alike_keep_sharing, Prefixes, kinds) {
  auto held = holding<Prefixes>({"a", "a", "a", "a"});
  const std::vector<std::vector<int>> turns{{2, 0, 3, 1}, {2, 0, 3, 1}, {1, 2, 3, 0}, {0, 1, 2, 3}};
  for (const auto& turn : turns)
    for (const int slot : turn) {
      held.extend(slot, letters("x"));
      held.verify();
    }
  for (int slot = 0; slot < 4; ++slot) BOOST_TEST(held.shared(slot) == 5);
  BOOST_TEST(find(held, "axxxxx") == (prefix_match{0, 5, 5}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_slot_that_is_cut_holds_what_is_left, Prefixes, kinds) {
  auto held = holding<Prefixes>({"abcdef", "abcdxy", "abc"});
  held.cut(0, 5);
  BOOST_TEST(find(held, "abcdef") == (prefix_match{0, 5, 5}));
  held.cut(0, 2);
  BOOST_TEST(find(held, "abcdef") == (prefix_match{1, 4, 4}));
  BOOST_TEST(held.shared(0) == 2);
  BOOST_TEST(held.shared(1) == 3);
  held.cut(1, 3);
  BOOST_TEST(find(held, "abcdef") == (prefix_match{1, 3, 3}));
  BOOST_TEST(held.shared(1) == 3);
  held.cut(1, 3);
  held.cut(2, 4);
  BOOST_TEST(held.length(1) == 3);
  BOOST_TEST(held.length(2) == 3);
  held.extend(0, letters("zz"));
  BOOST_TEST(find(held, "abzzz") == (prefix_match{0, 4, 4}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_slot_cut_to_nothing_goes_on_with_its_cache_salt, Prefixes, kinds) {
  Prefixes held(2);
  held.hold(0, 5, letters("abc"));
  held.hold(1, 6, letters("abc"));
  held.cut(0, 0);
  held.verify();
  BOOST_TEST(held.find(5, letters("abc")) == prefix_match());
  held.extend(0, letters("bc"));
  held.verify();
  BOOST_TEST(held.find(5, letters("bcd")) == (prefix_match{0, 2, 2}));
  BOOST_TEST(held.find(6, letters("bcd")) == prefix_match());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_forgotten_is_found_no_more, Prefixes, kinds) {
  auto held = holding<Prefixes>({"abc", "abcd", "abc"});
  held.forget(1);
  BOOST_TEST(find(held, "abcd") == (prefix_match{0, 3, 3}));
  BOOST_TEST(held.length(1) == 0);
  held.forget(1);
  held.forget(7);
  held.forget(0);
  BOOST_TEST(find(held, "abcd") == (prefix_match{2, 3, 3}));
  BOOST_TEST(held.shared(2) == 0);
  held.hold(1, 9, letters("abcd"));
  BOOST_TEST(find(held, "abcd") == (prefix_match{2, 3, 3}));
  BOOST_TEST(held.find(9, letters("abcd")) == (prefix_match{1, 4, 4}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_slot_that_holds_others_is_found_with_those, Prefixes, kinds) {
  auto held = holding<Prefixes>({"abcd", "abx"});
  held.hold(0, 3, letters("xyz"));
  BOOST_TEST(find(held, "abcd") == (prefix_match{1, 2, 2}));
  BOOST_TEST(held.find(3, letters("xyz")) == (prefix_match{0, 3, 3}));
  held.hold(0, 0, token_list(held.tokens(0)).first(2));
  BOOST_TEST(find(held, "xyz") == (prefix_match{0, 2, 2}));
  BOOST_TEST(held.find(3, letters("xyz")) == prefix_match());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_slot_can_begin_with_the_tokens_of_another, Prefixes, kinds) {
  auto held = holding<Prefixes>({"abcd"});
  held.hold(1, 0, token_list(held.tokens(0)).first(3));
  held.extend(1, held.tokens(0));
  BOOST_TEST(find(held, "abcabcd") == (prefix_match{1, 7, 7}));
  BOOST_TEST(held.shared(0) == 3);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(only_what_is_usable_counts_and_where_tokens_branch_off_is_said_all_the_same, Prefixes,
                              kinds) {
  const auto held = holding<Prefixes>({"abcdefgh", "abcdxyzw", "abcdef", "abq"});
  const auto only = [&](int wanted, int most) {
    return [=](int slot, int shared) { return slot == wanted ? std::min(most, shared) : 0; };
  };
  BOOST_TEST(find(held, "abcdefgh", only(1, 9)) == (prefix_match{1, 4, 8}));
  BOOST_TEST(find(held, "abcdefgh", only(2, 5)) == (prefix_match{2, 5, 8}));
  BOOST_TEST(find(held, "abcdefgh", only(3, 9)) == (prefix_match{3, 2, 8}));
  BOOST_TEST(find(held, "abcdefgh", only(7, 9)) == (prefix_match{-1, 0, 8}));
  const auto whole_fours = [](int, int shared) { return shared / 4 * 4; };
  BOOST_TEST(find(held, "abcdefg", whole_fours) == (prefix_match{0, 4, 7}));
  BOOST_TEST(find(held, "abcdxyz", whole_fours) == (prefix_match{0, 4, 7}));
  BOOST_TEST(find(held, "abqqqqq", whole_fours) == (prefix_match{-1, 0, 3}));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_visitor_that_refuses_sees_all_that_share_anything, Prefixes, kinds) {
  Prefixes held = holding<Prefixes>({"abcd", "xy", "abc", "", "ab", "abcz"});
  held.hold(6, 1, letters("abcd"));
  std::multiset<std::pair<int, int>> received;
  find(held, "abcde", [&](int slot, int shared) {
    received.emplace(slot, shared);
    return 0;
  });
  BOOST_CHECK((received == std::multiset<std::pair<int, int>>{{0, 4}, {2, 3}, {4, 2}, {5, 3}}));
}

BOOST_AUTO_TEST_CASE(those_that_share_more_are_asked_first_and_none_that_cannot_be_the_answer) {
  const auto held = holding<prefix_tree>({"abq", "abcd", "a", "abcd", "abc", "b"});
  std::vector<int> received;
  const auto record = [&](int most) {
    received.clear();
    return [&received, most](int, int shared) {
      received.push_back(shared);
      return std::min(most, shared);
    };
  };
  find(held, "abcdef", record(0));
  BOOST_CHECK((received == std::vector{4, 4, 3, 2, 1}));
  find(held, "abcdef", record(3));
  BOOST_TEST(received.size() < 4);
  find(held, "abcdef", record(9));
  BOOST_CHECK(received == std::vector{4});
  find(held, "abzz", record(9));
  BOOST_CHECK(std::ranges::all_of(received, [](int shared) { return shared == 2; }));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_thousand_slots_share_a_prompt, Prefixes, kinds) {
  constexpr int slots = 1000;
  Prefixes held(slots);
  for (int slot = 0; slot < slots; ++slot) held.hold(slot, 0, letters(prompt));
  const auto length = static_cast<int>(prompt.size());
  BOOST_TEST(find(held, prompt) == (prefix_match{0, length, length}));
  for (int round = 0; round < 3; ++round)
    for (int slot = 0; slot < slots; ++slot) held.extend(slot, std::vector{slot * 7 % 10, slot % 50, round});
  held.verify();
  for (int slot = 0; slot < slots; slot += 37) {
    std::vector<token> tokens(held.tokens(slot).begin(), held.tokens(slot).end());
    BOOST_TEST(held.find(0, tokens) == (prefix_match{slot % 50, length + 9, length + 9}));
  }
  for (int slot = 0; slot < slots; slot += 2) held.forget(slot);
  for (int slot = 1; slot < slots; slot += 4) held.cut(slot, length + slot % 3);
  held.verify();
  BOOST_TEST(find(held, prompt) == (prefix_match{1, length, length}));
}

}  // namespace cogen::scheduler
