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
  holding made{salt, tokens};  // which may be what the slot holds now
  forget(slot);
  at(slot) = std::move(made);
  enter(slot);
}

void prefix_tree::extend(int slot, std::span<const token> tokens) {
  holding& seq = at(slot);
  const int held = length(slot);
  seq.tokens.append(tokens);
  go_first(slot, held);
  int& shared = shared_[seq.place];
  if (shared < held) return;
  const holding& before = at(order_[seq.place - 1]);
  shared = common_length(seq.tokens, before.tokens, held);
  if (!precedes(seq.tokens, before.tokens, shared)) return;
  leave(slot);
  enter(slot);
}

void prefix_tree::cut(int slot, int length) noexcept {
  if (length >= this->length(slot)) return;
  holding& seq = at(slot);
  const bool moves = shared_[seq.place + 1] >= length;
  if (moves) leave(slot);
  seq.tokens.truncate(static_cast<std::size_t>(length));
  if (moves)
    enter(slot);
  else
    shared_[seq.place] = std::min(shared_[seq.place], length);
}

void prefix_tree::forget(int slot) noexcept {
  if (at(slot).place == nowhere) return;
  leave(slot);
  at(slot) = {};
}

void prefix_tree::enter(int slot) noexcept {
  const auto [place, before, behind] = gap_for(at(slot).salt, at(slot).tokens);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place), slot);
  shared_[place] = behind;
  shared_.insert(shared_.begin() + static_cast<std::ptrdiff_t>(place), before);
  number_from(place);
}

void prefix_tree::leave(int slot) noexcept {
  const std::size_t place = at(slot).place;
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(place));
  shared_[place + 1] = least_shared(place, place + 1);
  shared_.erase(shared_.begin() + static_cast<std::ptrdiff_t>(place));
  number_from(place);
}

void prefix_tree::go_first(int slot, int held) noexcept {
  std::size_t& place = at(slot).place;
  std::size_t first = place;
  while (shared_[first] == held && length(order_[first - 1]) == held) --first;
  const int other = order_[first];
  std::swap(order_[first], order_[place]);
  std::swap(at(other).place, place);
}

void prefix_tree::number_from(std::size_t place) noexcept {
  for (; place < order_.size(); ++place) at(order_[place]).place = place;
}

// Lookups

int prefix_tree::shared(int slot) const {
  const std::size_t place = at(slot).place;
  return place == nowhere ? 0 : std::max({0, shared_[place], shared_[place + 1]});
}

int prefix_tree::least_shared(std::size_t first, std::size_t last) const {
  int least = shared_[last];
  for (; first < last; ++first) least = std::min(least, shared_[first]);
  return least;
}

// A binary search that compares each token once (Manber, Myers, Suffix arrays, 1993): if the slot in the middle shares
// more, or fewer, tokens with the closest slot so far than the given tokens do, the direction is known. The gap is
// after slots that hold the same, so that those that continue alike, in turn, keep their order and need not move.
prefix_tree::gap prefix_tree::gap_for(const cache_salt& salt, std::span<const token> tokens) const {
  std::size_t first = 0, last = order_.size();
  int before = -1, behind = -1;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    const bool from_before = before >= behind;
    const int known = std::max(before, behind);
    const int apart = from_before ? least_shared(first, middle) : least_shared(middle + 1, last);
    int shared = std::min(known, apart);
    bool earlier = (apart < known) == from_before;
    if (apart == known) {
      const holding& other = at(order_[middle]);
      const auto order = salt <=> other.salt;
      if (order == 0) shared = common_length(tokens, other.tokens, std::max(0, known));
      earlier = order == 0 ? precedes(tokens, other.tokens, shared) : order < 0;
    }
    if (earlier)
      last = middle, behind = shared;
    else
      first = middle + 1, before = shared;
  }
  return {first, before, behind};
}

// Visits one node of the tree after another, from the deepest that the tokens reach to the root.
prefix_match prefix_tree::find(const cache_salt& salt, std::span<const token> tokens,
                               const usable_prefix& usable) const {
  auto [last, before, behind] = gap_for(salt, tokens);
  std::size_t first = last;
  prefix_match best;
  best.shared = std::max({0, before, behind});
  const auto consider = [&](std::size_t from, std::size_t to, int shared) {
    for (; from < to; ++from) {
      const int slot = order_[from];
      if (shared == best.length && slot > best.slot) continue;
      const int length = usable ? usable(slot, shared) : shared;
      if (length > best.length || (length == best.length && slot < best.slot)) best.slot = slot, best.length = length;
    }
  };
  for (int shared = best.shared; shared >= std::max(1, best.length); shared = std::max(before, behind)) {
    const std::size_t front = first, back = last;
    for (; before == shared; before = std::min(shared, shared_[first])) --first;
    for (; behind == shared; behind = std::min(shared, shared_[last])) ++last;
    consider(first, front, shared);
    consider(back, last, shared);
  }
  return best;
}

}  // namespace cogen::scheduler
