#pragma once

#include "prefix_tree.hpp"

#include <algorithm>
#include <optional>

namespace cogen::scheduler {

/// The specification of prefix_tree: every question goes through all the tokens of all slots.
class naive_prefixes {
 public:
  explicit naive_prefixes(int slots) : slots_(static_cast<std::size_t>(slots)) {}

  void hold(int slot, const cache_salt& salt, const token_list& tokens) {
    holding_of(slot) = holding{salt, {tokens.begin(), tokens.end()}};
  }
  void extend(int slot, std::span<const token> tokens) {
    holding_of(slot)->tokens.insert(holding_of(slot)->tokens.end(), tokens.begin(), tokens.end());
  }
  void cut(int slot, int length) {
    if (length < this->length(slot)) holding_of(slot)->tokens.resize(static_cast<std::size_t>(length));
  }
  void forget(int slot) { holding_of(slot).reset(); }

  std::span<const token> tokens(int slot) const {
    return holding_of(slot) ? std::span<const token>(holding_of(slot)->tokens) : std::span<const token>();
  }
  int length(int slot) const { return static_cast<int>(tokens(slot).size()); }

  int shared(int slot) const {
    int most = 0;
    for (int other = 0; holding_of(slot) && other < size(); ++other)
      if (other != slot) most = std::max(most, shared(other, holding_of(slot)->salt, tokens(slot)));
    return most;
  }

  prefix_match find(const cache_salt& salt, std::span<const token> tokens, const usable_prefix& usable = {}) const {
    prefix_match best;
    for (int slot = 0; slot < size(); ++slot) {
      const int length = shared(slot, salt, tokens);
      best.shared = std::max(best.shared, length);
      const int used = length > 0 && usable ? usable(slot, length) : length;
      if (used > best.length) best.slot = slot, best.length = used;
    }
    return best;
  }

  void verify() const {}

 private:
  struct holding {
    cache_salt salt;
    std::vector<token> tokens;
  };

  std::optional<holding>& holding_of(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const std::optional<holding>& holding_of(int slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  int size() const { return static_cast<int>(slots_.size()); }

  int shared(int slot, const cache_salt& salt, std::span<const token> with) const {
    if (!holding_of(slot) || holding_of(slot)->salt != salt) return 0;
    const auto held = tokens(slot);
    return static_cast<int>(std::mismatch(held.begin(), held.end(), with.begin(), with.end()).first - held.begin());
  }

  std::vector<std::optional<holding>> slots_;
};

}  // namespace cogen::scheduler
