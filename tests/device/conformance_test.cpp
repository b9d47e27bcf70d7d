// What every kind of cache on a device has to keep.
#include "../repetitions.hpp"
#include "kept_slots.hpp"
#include "tested_backend.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <random>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

constexpr int longest = 310;

std::vector<token> some(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<token> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<token>(random() % 1000));
  return tokens;
}

/// Appends `tokens` in steps of at most so many.
void append(kept_slots& slots, int slot, const std::vector<token>& tokens, int at_once = max_step_tokens,
            bool single_rows = false) {
  for (std::size_t begin = 0; begin < tokens.size();) {
    const auto end = std::min(tokens.size(), begin + static_cast<std::size_t>(at_once));
    slots.run(
        {{slot,
          {tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end)}}},
        single_rows);
    begin = end;
  }
}

/// What a further token gets out of what the slot holds. It is forgotten again.
at::Tensor seen_in(kept_slots& slots, int slot) {
  const int length = slots.length(slot);
  const auto parts = slots.take_away(slot);
  slots.put_back(slot, length, parts);
  const auto seen = slots.run({{slot, {77}}});
  slots.truncate(slot, 0);
  slots.put_back(slot, length, parts);
  return seen;
}

/// The same in a cache that has never held anything else.
at::Tensor seen_in_fresh(const device_kind& kind, const std::vector<token>& tokens) {
  kept_slots fresh(tested_backend(), kind, 1, longest);
  append(fresh, 0, tokens);
  return seen_in(fresh, 0);
}

/// Bit for bit, but for two units of bfloat16 at most after scans, whose products depend on how many rows they have.
bool same(const device_kind& kind, const at::Tensor& a, const at::Tensor& b) {
  return kind.recurrent ? at::allclose(a, b, 0.016, 0.016) : at::equal(a, b);
}

BOOST_AUTO_TEST_SUITE(device_conformance, *boost::unit_test::precondition(the_tested_place()))

BOOST_DATA_TEST_CASE(any_chunking_leaves_the_same, data::make(device_kinds()), kind) {
  for (const auto& [length, at_once] : thin({std::pair(1, 1), {140, 1}, {64, 39}, {300, 39}, {300, 7}}, 2)) {
    const auto tokens = some(length, static_cast<unsigned>(length));
    kept_slots other(tested_backend(), kind, 2, longest);
    append(other, 1, tokens, at_once, at_once == 7);
    BOOST_TEST(same(kind, seen_in(other, 1), seen_in_fresh(kind, tokens)),
               length << " tokens, " << at_once << " at once");
  }
}

// Tokens of one slot in one step, as rows of their own, beside those of another one.
BOOST_DATA_TEST_CASE(tokens_that_are_rows_see_what_they_see_one_by_one, data::make(device_kinds()), kind) {
  const auto tokens = some(206, 5);
  kept_slots together(tested_backend(), kind, 2, longest), one_by_one(tested_backend(), kind, 1, longest);
  for (const int count : {16, 3, 15, 70, 16, 16, 70}) {
    const int held = one_by_one.length(0);
    const std::vector<token> next(tokens.begin() + held, tokens.begin() + held + count);
    if (count > 16) {
      append(together, 1, next);
      append(one_by_one, 0, next);
      continue;
    }
    const auto found = together.run({{0, {1, 2}}, {1, next}}, true);
    std::vector<at::Tensor> expected;
    for (const token each : next) expected.push_back(one_by_one.run({{0, {each}}}));
    BOOST_TEST(at::allclose(found.narrow(1, 2, count), at::cat(expected, 1), 0.016, 0.016),
               count << " tokens behind " << held);
    BOOST_TEST(same(kind, seen_in(together, 1), seen_in(one_by_one, 0)));
  }
}

BOOST_DATA_TEST_CASE(slots_share_a_step_and_nothing_else, data::make(device_kinds()), kind) {
  kept_slots slots(tested_backend(), kind, 4, longest);
  std::vector<std::vector<token>> held(4);
  const auto feed = [&](const std::vector<std::pair<int, int>>& counts, unsigned seed) {
    std::vector<new_tokens> rows;
    for (const auto& [slot, count] : counts) {
      rows.push_back({slot, some(count, seed + static_cast<unsigned>(slot))});
      auto& tokens = held[static_cast<std::size_t>(slot)];
      tokens.insert(tokens.end(), rows.back().tokens.begin(), rows.back().tokens.end());
    }
    slots.run(rows);
  };
  for (unsigned turn = 0; turn < 6; ++turn) feed({{2, 1}, {0, 40}, {3, 33}}, 100 * turn);
  for (unsigned turn = 0; turn < 10 * repetitions(3); ++turn) feed({{3, 1}, {0, 1}, {1, 2}}, 1000 + 100 * turn);
  for (int slot = 0; slot < 4; ++slot)
    BOOST_TEST(same(kind, seen_in(slots, slot), seen_in_fresh(kind, held[static_cast<std::size_t>(slot)])),
               "slot " << slot);
}

constexpr int max_held = 220;  // of a history: rings have come round

/// Appended to, cut, emptied, copied, taken away and put back at random.
class history {
 public:
  history(const device_kind& kind, unsigned seed)
      : kind_(kind), random_(seed), kept_(tested_backend(), kind, 3, longest) {}

  void step() {
    const int slot = below(3);
    switch (below(6)) {
      case 0:
        return cut(slot);
      case 1:
        return copy(slot, below(3));
      case 2:
        return leave_and_return(slot);
      case 3:
        return below(4) == 0 ? cut_to(slot, 0) : grow(slot, 1);
      default:
        return grow(slot, 1 + below(max_step_tokens));
    }
  }

  void check() {
    for (int slot = 0; slot < 3; ++slot)
      BOOST_TEST(same(kind_, seen_in(kept_, slot), seen_in_fresh(kind_, content(slot).tokens)),
                 "slot " << slot << " of " << length(slot) << " tokens");
  }

 private:
  struct held {
    std::vector<token> tokens;
    int most = 0;  // that it has held since it was empty
  };

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  held& content(int slot) { return slots_[slot]; }
  int length(int slot) { return static_cast<int>(content(slot).tokens.size()); }

  void grow(int slot, int count) {
    count = std::min(count, max_held - length(slot));
    if (count < 1) return;
    const auto tokens = some(count, random_());
    kept_.run({{slot, tokens}}, count <= 16 && below(2) == 0);
    content(slot).tokens.insert(content(slot).tokens.end(), tokens.begin(), tokens.end());
    content(slot).most = std::max(content(slot).most, length(slot));
  }

  /// The one that has to be left, of those that are there.
  int least(int slot) { return std::max(0, content(slot).most - rollback_of(kind_)); }

  void cut(int slot) {
    if (least(slot) <= length(slot)) cut_to(slot, least(slot) + below(length(slot) - least(slot) + 1));
  }

  void cut_to(int slot, int end) {
    kept_.truncate(slot, end);
    content(slot).tokens.resize(static_cast<std::size_t>(end));
    if (end == 0) content(slot).most = 0;
  }

  void copy(int source, int target) {
    if (source == target || least(source) > length(source)) return;
    const int end = least(source) + below(length(source) - least(source) + 1);
    kept_.copy(source, target, end);
    content(target) = content(source);
    content(target).tokens.resize(static_cast<std::size_t>(end));
    if (end == 0) content(target).most = 0;
  }

  void leave_and_return(int slot) {
    const auto parts = kept_.take_away(slot);
    const int other = length((slot + 1) % 3) == 0 ? (slot + 1) % 3 : slot;
    kept_.put_back(other, length(slot), parts);
    if (other != slot) std::swap(content(other), content(slot));
  }

  const device_kind& kind_;
  std::mt19937 random_;
  kept_slots kept_;
  held slots_[3];
};

BOOST_DATA_TEST_CASE(any_history_leaves_what_its_tokens_leave, data::make(device_kinds()), kind) {
  for (unsigned seed = 0; seed < repetitions(3); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      history any(kind, seed);
      for (int turn = 0; turn < 3; ++turn) {
        for (int i = 0; i < 12; ++i) any.step();
        any.check();
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
