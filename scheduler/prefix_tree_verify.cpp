#include "prefix_tree.hpp"
#include "require.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::scheduler {

void prefix_tree::verify() const {
  const auto known =
      std::count_if(slots_.begin(), slots_.end(), [](const auto& entry) { return entry.place != nowhere; });
  if (known != std::ssize(order_) || shared_.size() != order_.size() + 1)
    throw std::logic_error("the order has lost a slot, or keeps one");
  if (shared_.front() != -1 || shared_.back() != -1) throw std::logic_error("the order does not end where it ends");
  for (std::size_t place = 0; place < order_.size(); ++place) {
    const int slot = order_[place];
    const holding& entry = holding_of(slot);
    require(entry.place == place, "it stands where it does not know, or twice", slot);
    if (place == 0) continue;
    const holding& previous = holding_of(order_[place - 1]);
    require(previous.salt <= entry.salt, "its cache salt does not belong there", slot);
    if (previous.salt < entry.salt) {
      require(shared_[place] == -1, "it shares tokens across cache salts", slot);
      continue;
    }
    const auto [ours, theirs] = std::ranges::mismatch(entry.tokens, previous.tokens);
    require(shared_[place] == ours - entry.tokens.begin(), "it shares another length with the slot before it", slot);
    require(ours == entry.tokens.end() || (theirs != previous.tokens.end() && *theirs < *ours),
            "its tokens do not belong there", slot);
  }
}

}  // namespace cogen::scheduler
