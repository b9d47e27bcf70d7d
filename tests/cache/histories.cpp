// Random histories of several slots against plain concatenation.
#include "../repetitions.hpp"
#include "kinds.hpp"
#include "twin.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(histories)
namespace {

namespace data = boost::unit_test::data;

constexpr int slots = 5;
constexpr int longest = 600;

/// One random history. What an operation may do is worked out here anew, from the lengths and bases that it has seen.
class history {
 public:
  history(const kind& kind, unsigned seed)
      : twin_(kind, slots, longest, seed), keeps_all_(kind.keeps_all), random_(seed) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      operate();
      if (i % 8 == 0) twin_.check();
    }
    twin_.check();
    for (int slot = 0; slot < slots; ++slot) empty(slot);
    BOOST_TEST(twin_.tested().committed_bytes() == 0);
  }

 private:
  void operate() {
    switch (below(10)) {
      case 0:
        return truncate(below(slots));
      case 1:
        return clear(below(slots));
      case 2:
        return copy(below(slots), below(slots));
      case 3:
        return share_prefix(below(slots), below(slots));
      case 4:
        return move(below(slots), below(slots));
      case 5:
        return fork(below(slots), below(slots));
      case 6:
        twin_.tested().take_checkpoint(below(slots));
        return;
      default:
        return append();
    }
  }

  void append() {
    std::vector<step_row> rows;
    for (int slot = 0; slot < slots; ++slot) {
      const int count = below(3) == 0 ? 1 + below(100) : below(2);
      if (count == 0 || twin_.length(slot) + count > longest) continue;
      rows.push_back({.slot = slot, .count = count, .drafts = below(std::min(count, max_drafts + 1))});
    }
    std::shuffle(rows.begin(), rows.end(), random_);
    if (!rows.empty()) twin_.append(rows);
    for (const step_row& row : rows) {
      reach_[row.slot] = std::max(reach_[row.slot], twin_.length(row.slot));
      const int last = row.count % 64 == 0 ? 64 : row.count % 64;  // of the steps that it takes
      drafts_[row.slot] = std::min(row.drafts, last - 1);
    }
  }

  void truncate(int slot) {
    const int count = below(2) == 0 ? below(twin_.length(slot) + 1) : std::min(below(20), twin_.length(slot));
    const int length = twin_.length(slot) - count;
    if (length < pinned(slot) || !may_return(slot, length)) {
      BOOST_CHECK_THROW(twin_.tested().truncate(slot, length), std::logic_error);
      return;
    }
    twin_.truncate(slot, length);
    drafts_[slot] = std::max(0, drafts_[slot] - count);
    shorten_base(slot, length);
  }

  void clear(int slot) {
    if (pinned(slot) > 0) {
      BOOST_CHECK_THROW(twin_.tested().clear(slot), std::logic_error);
      return;
    }
    twin_.clear(slot);
    base_[slot] = {};
    reach_[slot] = 0;
    drafts_[slot] = 0;
  }

  /// A kind that keeps all may go anywhere, and each one by its rollback limit or the drafts of its last row. For the
  /// rest it has to say itself.
  bool may_return(int slot, int length) {
    const bool can = twin_.tested().can_truncate(slot, length);
    if (keeps_all_) BOOST_TEST(can == (length >= pinned(slot)));
    const int surely =
        std::min(reach_[slot] - twin_.tested().max_rollback_tokens(), twin_.length(slot) - drafts_[slot]);
    if (length >= surely && length >= pinned(slot)) BOOST_TEST(can);
    return can;
  }

  void fork(int slot, int source) {
    if (slot == source || twin_.length(slot) > 0 || twin_.length(source) == 0) return;
    const int end = twin_.length(source) - (below(2) == 0 ? 0 : std::min(below(16), twin_.length(source) - 1));
    const slot_parent theirs = base_[source];
    const int most = (theirs.length > 0 ? std::min(theirs.length, end) : end) / 64;
    const int shared = 64 * below(most + 1);
    if (end < twin_.length(source) && !twin_.tested().can_truncate(source, end) && end >= pinned(source)) {
      BOOST_CHECK_THROW(
          twin_.tested().fork({.slot = slot, .parent = source, .shared = shared, .source = source, .end = end}),
          std::logic_error);
      return;
    }
    if (end < pinned(source) && !keeps_all_) return;
    twin_.fork(slot, source, shared, end);
    reach_[slot] = end;
    if (shared > 0) base_[slot] = {.slot = theirs.length > 0 ? theirs.slot : source, .length = shared};
  }

  void copy(int source, int target) {
    if (source == target || !keeps_all_) return;
    const int end = below(twin_.length(source) + 1);
    const int begin = below(std::min(end, twin_.length(target)) + 1);
    if (begin < base_[target].length || begin < pinned(target)) {
      BOOST_CHECK_THROW(twin_.tested().copy(source, target, begin, end), std::logic_error);
      return;
    }
    twin_.copy(source, target, begin, end);
    drafts_[target] = 0;
    reach_[target] = end;
  }

  void share_prefix(int slot, int source) {
    if (!keeps_all_) return;
    const int blocks = twin_.length(source) / 64;
    if (twin_.length(slot) > 0 || blocks == 0) return;
    const int length = 64 * (1 + below(blocks));
    if (base_[source].length > 0 && base_[source].length < length) {
      BOOST_CHECK_THROW(twin_.tested().share_prefix(slot, source, length), std::logic_error);
      return;
    }
    twin_.share_prefix(slot, source, length);
    base_[slot] = {.slot = base_[source].length > 0 ? base_[source].slot : source, .length = length};
  }

  void move(int source, int target) {
    if (twin_.length(target) > 0 || source == target) return;
    twin_.move(source, target);
    reach_[target] = reach_[source];
  }

  void empty(int slot) {
    for (int reader = 0; reader < slots; ++reader)
      if (base_[reader].slot == slot) clear(reader);
    clear(slot);
  }

  int pinned(int slot) const {
    int longest_base = 0;
    for (const slot_parent& parent : base_)
      if (parent.slot == slot) longest_base = std::max(longest_base, parent.length);
    return longest_base;
  }

  void shorten_base(int slot, int length) {
    if (length < base_[slot].length) base_[slot].length = length - length % 64;
    if (base_[slot].length == 0) base_[slot] = {};
  }

  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

  twin twin_;
  bool keeps_all_;
  std::mt19937 random_;
  slot_parent base_[slots];
  int reach_[slots] = {};   // the most tokens held since the slot was filled
  int drafts_[slots] = {};  // of its last row
};

}  // namespace

BOOST_DATA_TEST_CASE(any_history_reads_like_concatenation,
                     data::make(kinds()) * data::xrange(1U, 1U + cogen::test::repetitions(3)), kind, seed) {
  history(kind, seed).run(80);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
