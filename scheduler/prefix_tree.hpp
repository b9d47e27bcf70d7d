#pragma once

#include <cogen/scheduler/cache_salt.hpp>
#include <cogen/scheduler/token_list.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// The result of a lookup.
struct prefix_match {
  int slot = -1;   ///< of the slots with the longest usable prefix, the lowest; -1 if none is usable
  int length = 0;  ///< tokens of that prefix
  int shared = 0;  ///< the longest prefix shared with any slot, usable or not: where they diverge

  bool operator==(const prefix_match&) const = default;
};

/// How many of the `shared` tokens (1 or more) that a slot starts with can be used: 0, …, `shared`.
using usable_prefix = std::function<int(int slot, int shared)>;

/// Which tokens each slot holds, and which slot holds the longest prefix of given tokens: a radix tree whose nodes are
/// ranges of slots.
///
/// Slots are sorted by their tokens, and the table has the number of tokens that each shares with the one before it.
/// Slots with a common prefix are adjacent: such a range is a node of the tree (an lcp-interval: Abouelhoda, Kurtz,
/// Ohlebusch, Replacing suffix trees with enhanced suffix arrays, 2004). So nodes split and merge when slots move, and
/// only the tokens need memory. Longer sorts before shorter: a slot that continues like another one before it only
/// moves to the front of those that still hold the same, where it usually is already.
///
/// Slots are numbered from 0. Tokens are found only under their own cache salt. Every result depends on what is held,
/// not on how that came about. A member that throws has changed nothing.
class prefix_tree {
 public:
  explicit prefix_tree(int slots);

  /// Sets the tokens of the slot, and shares their memory. Takes as long as find() and a few operations on each slot.
  void hold(int slot, const cache_salt& salt, const token_list& tokens) noexcept;

  /// Appends tokens to the slot, which is in the tree, perhaps without tokens. Throws std::bad_alloc. Takes a look at
  /// the tokens, and at other slots with the same earlier tokens; if it diverges from those that continue, as long as
  /// hold().
  void extend(int slot, std::span<const token> tokens);

  /// Cuts the slot to its first `length` tokens. Takes as long as hold() if others share as many.
  void cut(int slot, int length) noexcept;

  /// Removes the slot from the tree.
  void forget(int slot) noexcept;

  /// What the slot holds; valid until that changes.
  const token_list& tokens(int slot) const { return holding_of(slot).tokens; }
  const cache_salt& salt(int slot) const { return holding_of(slot).salt; }
  int length(int slot) const { return static_cast<int>(holding_of(slot).tokens.size()); }

  /// How many of its first tokens it shares with other slots: where it last diverged.
  int shared(int slot) const;

  /// The slot of which the longest prefix of these tokens can be used; without `usable`, all that it shares. `usable`
  /// is called for candidates, longest prefix first; if it always returns 0, once for each slot that shares anything.
  /// Compares each matching token once. Looks at slots that share less only if those that share more cannot be used
  /// that far.
  prefix_match find(const cache_salt& salt, std::span<const token> tokens, const usable_prefix& usable = {}) const;

  /// Throws std::logic_error if the order, or what it says of the slots, is wrong. For tests: compares all tokens.
  void verify() const;

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  struct holding {
    cache_salt salt = {};
    token_list tokens;
    std::size_t place = nowhere;  // in the order
  };
  struct gap {
    std::size_t place;  // of the slot after it
    int ahead;   // what is shared with the slot before it; -1 where that has another cache salt, or there is none
    int behind;  // the same for the slot after it
  };

  holding& holding_of(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const holding& holding_of(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  gap gap_for(const cache_salt& salt, std::span<const token> tokens) const;
  int min_shared(std::size_t first, std::size_t last) const;
  void enter(int slot) noexcept;
  void leave(int slot) noexcept;
  void go_first(int slot, int held) noexcept;  // of those that hold the same `held` tokens, or did until now
  void number_from(std::size_t place) noexcept;

  std::vector<holding> slots_;
  std::vector<int> order_;   // the slots in the tree
  std::vector<int> shared_;  // what is shared across each gap of the order, those at both ends, too: -1 as above
};

}  // namespace cogen::scheduler
