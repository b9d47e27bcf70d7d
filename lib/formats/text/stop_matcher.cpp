#include "formats/text/stop_matcher.hpp"

#include "formats/text/byte_trie.hpp"
#include "formats/text/utf8.hpp"

#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::text {
namespace {

void require_stop(std::string_view stop, std::size_t index) {
  auto name = "stop string " + std::to_string(index);
  if (stop.empty()) throw std::invalid_argument(name + " is empty");
  if (stop.size() > stop_matcher::max_bytes) {
    throw std::invalid_argument(name + " has " + std::to_string(stop.size()) + " bytes, more than the limit of " +
                                std::to_string(stop_matcher::max_bytes));
  }
  if (!is_utf8(stop)) throw std::invalid_argument(name + " is not valid UTF-8");
}

void require_stops(std::span<const std::string> stops) {
  if (stops.size() > stop_matcher::max_strings) {
    throw std::invalid_argument(std::to_string(stops.size()) + " stop strings exceed the limit of " +
                                std::to_string(stop_matcher::max_strings));
  }
  std::size_t total = 0;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    require_stop(stops[i], i);
    total += stops[i].size();
  }
  if (total > stop_matcher::max_total_bytes) {
    throw std::invalid_argument("stop strings of " + std::to_string(total) + " bytes exceed the limit of " +
                                std::to_string(stop_matcher::max_total_bytes));
  }
}

}  // namespace

class stop_matcher::automaton {
 public:
  using state = byte_trie::node;

  struct match {
    std::size_t index;
    std::size_t length;
  };

  explicit automaton(std::span<const std::string> stops) {
    for (std::size_t i = 0; i < stops.size(); ++i) trie_.insert(stops[i], i);
    nodes_.resize(trie_.size());
    mark_depths(stops);
    link_suffixes();
  }

  state step(state current, unsigned char byte) const {
    while (true) {
      if (auto next = trie_.child(current, byte)) return *next;
      if (current == byte_trie::root) return current;
      current = nodes_[current].suffix;
    }
  }

  /// The longest stop string that ends here.
  const std::optional<match>& ending(state index) const { return nodes_[index].ending; }

  std::size_t depth(state index) const { return nodes_[index].depth; }

 private:
  struct node {
    state suffix = byte_trie::root;
    std::size_t depth = 0;
    std::optional<match> ending;
    std::vector<std::pair<unsigned char, state>> children;
  };

  void mark_depths(std::span<const std::string> stops) {
    for (const auto& stop : stops) {
      state current = byte_trie::root;
      for (std::size_t i = 0; i < stop.size(); ++i) {
        auto byte = static_cast<unsigned char>(stop[i]);
        auto next = *trie_.child(current, byte);
        if (nodes_[next].depth == 0) nodes_[current].children.emplace_back(byte, next);
        nodes_[next].depth = i + 1;
        current = next;
      }
    }
  }

  void link_suffixes() {
    std::deque<state> open{byte_trie::root};
    for (; !open.empty(); open.pop_front()) {
      for (auto [byte, child] : nodes_[open.front()].children) {
        if (open.front() != byte_trie::root) nodes_[child].suffix = step(nodes_[open.front()].suffix, byte);
        auto own = trie_.value(child);
        nodes_[child].ending =
            own ? std::optional(match{*own, nodes_[child].depth}) : nodes_[nodes_[child].suffix].ending;
        open.push_back(child);
      }
    }
  }

  byte_trie trie_;
  std::vector<node> nodes_;
};

stop_matcher::stop_matcher(std::span<const std::string> stops) {
  require_stops(stops);
  if (!stops.empty()) automaton_ = std::make_shared<const automaton>(stops);
}

stop_matcher::result stop_matcher::push(std::string_view piece) {
  if (matched_) return {};
  if (!automaton_) return {std::string(piece), std::nullopt};
  held_.reserve(held_.size() + piece.size());
  for (char c : piece) {
    held_ += c;
    state_ = automaton_->step(state_, static_cast<unsigned char>(c));
    if (const auto& match = automaton_->ending(state_)) {
      matched_ = true;
      held_.resize(held_.size() - match->length);
      return {std::exchange(held_, {}), match->index};
    }
  }
  auto certain = held_.size() - automaton_->depth(state_);
  result safe{held_.substr(0, certain), std::nullopt};
  held_.erase(0, certain);
  return safe;
}

std::string stop_matcher::flush() {
  state_ = byte_trie::root;
  return std::exchange(held_, {});
}

}  // namespace cogen::text
