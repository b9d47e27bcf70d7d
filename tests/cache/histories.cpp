// Random histories of several slots against plain concatenation.
#include "kinds.hpp"
#include "twin.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace cogen::cache::test {
namespace {

namespace data = boost::unit_test::data;

constexpr int slots = 5;
constexpr int longest = 330;

/// One random history. What an operation may do is worked out here anew, from the lengths and bases that it has seen.
class history {
 public:
  history(const kind& kind, unsigned seed) : twin_(kind, slots, longest, seed), random_(seed) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      operate();
      if (i % 4 == 0) twin_.check();
    }
    twin_.check();
    for (int slot = 0; slot < slots; ++slot) empty(slot);
    BOOST_TEST(twin_.tested().committed_bytes() == 0);
  }

 private:
  void operate() {
    switch (below(8)) {
      case 0:
        return truncate(below(slots));
      case 1:
        return clear(below(slots));
      case 2:
        return copy(below(slots), below(slots));
      case 3:
        return adopt(below(slots), below(slots));
      case 4:
        return move(below(slots), below(slots));
      default:
        return append();
    }
  }

  void append() {
    std::vector<step_row> rows;
    for (int slot = 0; slot < slots; ++slot) {
      const int count = below(3) == 0 ? 1 + below(100) : below(2);
      if (count > 0 && twin_.length(slot) + count <= longest) rows.push_back({.slot = slot, .count = count});
    }
    std::shuffle(rows.begin(), rows.end(), random_);
    if (!rows.empty()) twin_.append(rows);
  }

  void truncate(int slot) {
    const int length = below(twin_.length(slot) + 1);
    if (length < pinned(slot)) {
      BOOST_CHECK_THROW(twin_.tested().truncate(slot, length), std::logic_error);
      return;
    }
    twin_.truncate(slot, length);
    shorten_base(slot, length);
  }

  void clear(int slot) {
    if (pinned(slot) > 0) {
      BOOST_CHECK_THROW(twin_.tested().clear(slot), std::logic_error);
      return;
    }
    twin_.clear(slot);
    base_[slot] = {};
  }

  void copy(int from, int to) {
    if (from == to) return;
    const int end = below(twin_.length(from) + 1);
    const int begin = below(std::min(end, twin_.length(to)) + 1);
    if (begin < base_[to].length || begin < pinned(to)) {
      BOOST_CHECK_THROW(twin_.tested().copy(from, to, begin, end), std::logic_error);
      return;
    }
    twin_.copy(from, to, begin, end);
  }

  void adopt(int slot, int of) {
    const int blocks = twin_.length(of) / 64;
    if (twin_.length(slot) > 0 || blocks == 0) return;
    const int length = 64 * (1 + below(blocks));
    if (base_[of].length > 0 && base_[of].length < length) {
      BOOST_CHECK_THROW(twin_.tested().adopt(slot, of, length), std::logic_error);
      return;
    }
    twin_.adopt(slot, of, length);
    base_[slot] = {.slot = base_[of].length > 0 ? base_[of].slot : of, .length = length};
  }

  void move(int from, int to) {
    if (twin_.length(to) == 0 && from != to) twin_.move(from, to);
  }

  void empty(int slot) {
    for (int reader = 0; reader < slots; ++reader)
      if (base_[reader].slot == slot) clear(reader);
    clear(slot);
  }

  int pinned(int slot) const {
    int longest_base = 0;
    for (const slot_base& base : base_)
      if (base.slot == slot) longest_base = std::max(longest_base, base.length);
    return longest_base;
  }

  void shorten_base(int slot, int length) {
    if (length < base_[slot].length) base_[slot].length = length - length % 64;
    if (base_[slot].length == 0) base_[slot] = {};
  }

  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

  twin twin_;
  std::mt19937 random_;
  slot_base base_[slots];
};

}  // namespace

BOOST_AUTO_TEST_SUITE(histories)

BOOST_DATA_TEST_CASE(any_history_reads_like_concatenation, data::make(kinds()) * data::xrange(1U, 9U), kind, seed) {
  history(kind, seed).run(80);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
