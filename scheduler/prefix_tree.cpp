#include "prefix_tree.hpp"

#include <algorithm>
#include <utility>

namespace cogen::scheduler {
namespace {

/// Length of the common prefix, of which `known` tokens are known to be equal.
int common_length(std::span<const token> a, std::span<const token> b, int known) {
  constexpr std::size_t stride = 64;  // compared at once
  const std::size_t end = std::min(a.size(), b.size());
  auto same = static_cast<std::size_t>(known);
  while (same + stride <= end && std::equal(&a[same], &a[same] + stride, &b[same])) same += stride;
  while (same < end && a[same] == b[same]) ++same;
  return static_cast<int>(same);
}

/// Whether `a`, which shares exactly that many first tokens with `b`, sorts before it.
bool precedes(std::span<const token> a, std::span<const token> b, int shared) {
  const auto branch = static_cast<std::size_t>(shared);
  return branch < a.size() && (branch == b.size() || a[branch] < b[branch]);
}

}  // namespace

prefix_tree::prefix_tree(int slots) : slots_(static_cast<std::size_t>(slots)) {
  order_.reserve(slots_.size());
  shared_.reserve(slots_.size() + 1);
  shared_.push_back(-1);
}

// Changes

void prefix_tree::hold(int slot, const cache_salt& salt, const token_list& tokens) noexcept {
  holding replacement{salt, tokens};  // which may be what the slot holds now
  forget(slot);
  holding_of(slot) = std::move(replacement);
  enter(slot);
}

void prefix_tree::extend(int slot, std::span<const token> tokens) {
  holding& seq = holding_of(slot);
  const int held = length(slot);
  seq.tokens.append(tokens);
  go_first(slot, held);
  int& shared = shared_[seq.place];
  if (shared < held) return;
  const holding& previous = holding_of(order_[seq.place - 1]);
  shared = common_length(seq.tokens, previous.tokens, held);
  if (!precedes(seq.tokens, previous.tokens, shared)) return;
  leave(slot);
  enter(slot);
}

void prefix_tree::cut(int slot, int length) noexcept {
  if (length >= this->length(slot)) return;
  holding& seq = holding_of(slot);
  const bool moves = shared_[seq.place + 1] >= length;
  if (moves) leave(slot);
  seq.tokens.truncate(static_cast<std::size_t>(length));
  if (moves)
    enter(slot);
  else
    shared_[seq.place] = std::min(shared_[seq.place], length);
}

void prefix_tree::forget(int slot) noexcept {
  if (holding_of(slot).place == nowhere) return;
  leave(slot);
  holding_of(slot) = {};
}

void prefix_tree::enter(int slot) noexcept {
  const auto [place, ahead, behind] = gap_for(holding_of(slot).salt, holding_of(slot).tokens);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place), slot);
  shared_[place] = behind;
  shared_.insert(shared_.begin() + static_cast<std::ptrdiff_t>(place), ahead);
  number_from(place);
}

void prefix_tree::leave(int slot) noexcept {
  const std::size_t place = holding_of(slot).place;
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(place));
  shared_[place + 1] = min_shared(place, place + 1);
  shared_.erase(shared_.begin() + static_cast<std::ptrdiff_t>(place));
  number_from(place);
}

void prefix_tree::go_first(int slot, int held) noexcept {
  std::size_t& place = holding_of(slot).place;
  std::size_t first = place;
  while (shared_[first] == held && length(order_[first - 1]) == held) --first;
  const int other = order_[first];
  std::swap(order_[first], order_[place]);
  std::swap(holding_of(other).place, place);
}

void prefix_tree::number_from(std::size_t place) noexcept {
  for (; place < order_.size(); ++place) holding_of(order_[place]).place = place;
}

// Lookups

int prefix_tree::shared(int slot) const {
  const std::size_t place = holding_of(slot).place;
  return place == nowhere ? 0 : std::max({0, shared_[place], shared_[place + 1]});
}

int prefix_tree::min_shared(std::size_t first, std::size_t last) const {
  int least = shared_[last];
  for (; first < last; ++first) least = std::min(least, shared_[first]);
  return least;
}

// A binary search that compares each token once (Manber, Myers, Suffix arrays, 1993): if the slot in the middle shares
// more, or fewer, tokens with the closest slot so far than the given tokens do, the direction is known. The gap is
// after slots that hold the same, so that those that continue alike, in turn, keep their order and need not move.
prefix_tree::gap prefix_tree::gap_for(const cache_salt& salt, std::span<const token> tokens) const {
  std::size_t first = 0, last = order_.size();
  int ahead = -1, behind = -1;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    const bool from_ahead = ahead >= behind;
    const int known = std::max(ahead, behind);
    const int apart = from_ahead ? min_shared(first, middle) : min_shared(middle + 1, last);
    int shared = std::min(known, apart);
    bool earlier = (apart < known) == from_ahead;
    if (apart == known) {
      const holding& other = holding_of(order_[middle]);
      const auto order = salt <=> other.salt;
      if (order == 0) shared = common_length(tokens, other.tokens, std::max(0, known));
      earlier = order == 0 ? precedes(tokens, other.tokens, shared) : order < 0;
    }
    if (earlier)
      last = middle, behind = shared;
    else
      first = middle + 1, ahead = shared;
  }
  return {first, ahead, behind};
}

// Visits one node of the tree after another, from the deepest that the tokens reach to the root.
prefix_match prefix_tree::find(const cache_salt& salt, std::span<const token> tokens,
                               const usable_prefix& usable) const {
  auto [last, ahead, behind] = gap_for(salt, tokens);
  std::size_t first = last;
  prefix_match best;
  best.shared = std::max({0, ahead, behind});
  const auto consider = [&](std::size_t begin, std::size_t end, int shared) {
    for (; begin < end; ++begin) {
      const int slot = order_[begin];
      if (shared == best.length && slot > best.slot) continue;
      const int length = usable ? usable(slot, shared) : shared;
      if (length > best.length || (length == best.length && slot < best.slot)) best.slot = slot, best.length = length;
    }
  };
  for (int shared = best.shared; shared >= std::max(1, best.length); shared = std::max(ahead, behind)) {
    const std::size_t front = first, back = last;
    for (; ahead == shared; ahead = std::min(shared, shared_[first])) --first;
    for (; behind == shared; behind = std::min(shared, shared_[last])) ++last;
    consider(first, front, shared);
    consider(back, last, shared);
  }
  return best;
}

}  // namespace cogen::scheduler
