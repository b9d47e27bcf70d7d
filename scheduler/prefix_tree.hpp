#pragma once

#include <cogen/scheduler/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// What slots hold of the tokens that were looked up.
struct prefix_match {
  int slot = -1;   ///< of those of which most can be used, the lowest; -1 where nothing can
  int length = 0;  ///< how many of its first tokens can be used
  int shared = 0;  ///< the most that any slot shares with the tokens, usable or not: there they branch off

  bool operator==(const prefix_match&) const = default;
};

/// How many of the `shared` tokens (1 or more) that a slot begins with can be used: 0, …, `shared`.
using usable_prefix = std::function<int(int slot, int shared)>;

/// Which tokens each slot holds, and which slot holds the longest prefix of others: a radix tree whose nodes are ranges
/// of slots.
///
/// The slots stand in the order of their tokens, and it is known how many each shares with the one before it. Those
/// that begin with the same tokens stand side by side: such a range is a node of the tree (an lcp-interval: Abouelhoda,
/// Kurtz, Ohlebusch, Replacing suffix trees with enhanced suffix arrays, 2004). So nodes split and merge when slots
/// move, and nothing but the tokens ever needs memory. Longer stands before shorter: what goes on as another one did
/// before it only goes to the front of those that still hold the same, and rarely is it not there already.
///
/// Slots are numbered from 0. Tokens are found only under the cache salt that they are held with. Every answer follows
/// from what is held, not from how that came about. A member that throws has changed nothing.
class prefix_tree {
 public:
  explicit prefix_tree(int slots);

  /// The slot holds these tokens, and nothing else. Throws std::bad_alloc. Takes as long as find(), a copy of the
  /// tokens and a few operations on each slot.
  void hold(int slot, std::uint64_t cache_salt, std::span<const token> tokens);

  /// The slot, of which something is known, be it that it holds no token, holds these after its own; they must not lie
  /// in what tokens() says of it. Throws std::bad_alloc. Takes a copy of the tokens, and a look at other slots that
  /// hold what it held before; where it parts from those that went on, as long as hold().
  void extend(int slot, std::span<const token> tokens);

  /// The slot holds no more than the first `length` of its tokens. Takes as long as hold() where others share as many.
  void cut(int slot, int length) noexcept;

  /// Nothing is known of the slot any more.
  void forget(int slot) noexcept;

  /// What the slot holds; valid until that changes.
  std::span<const token> tokens(int slot) const { return at(slot).tokens; }
  int length(int slot) const { return static_cast<int>(at(slot).tokens.size()); }

  /// How many of its first tokens it shares with other slots: where it branched off last.
  int shared(int slot) const;

  /// The slot of which most can be used for these tokens; without `usable`, that is all it shares with them. `usable`
  /// is asked about slots that may be the answer, those that share more first: one that always says 0 is asked once
  /// about each slot that shares anything. Compares each token that matches once, and looks at slots that
  /// share less only where those that share more cannot be used that far.
  prefix_match find(std::uint64_t cache_salt, std::span<const token> tokens, const usable_prefix& usable = {}) const;

  /// Throws std::logic_error where the order, or what it says of the slots, is wrong. For tests: it compares all
  /// tokens.
  void verify() const;

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  struct holding {
    std::uint64_t cache_salt = 0;
    std::vector<token> tokens;
    std::size_t place = nowhere;  // in the order
  };
  struct gap {
    std::size_t place;  // of the slot behind it
    int before;  // what is shared with the slot before it; -1 where that has another cache salt, or there is none
    int behind;  // the same of the slot behind it
  };

  holding& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const holding& at(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  gap gap_for(std::uint64_t cache_salt, std::span<const token> tokens) const;
  int least_shared(std::size_t first, std::size_t last) const;
  void enter(int slot) noexcept;
  void leave(int slot) noexcept;
  void go_first(int slot, int held) noexcept;  // of those that hold the same `held` tokens, or did until now
  void number_from(std::size_t place) noexcept;

  std::vector<holding> slots_;
  std::vector<int> order_;   // the slots of which something is known
  std::vector<int> shared_;  // what is shared across each gap of the order, those at both ends, too: -1 as above
};

}  // namespace cogen::scheduler
