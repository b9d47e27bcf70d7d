#include "decoding/context_table.hpp"

#include <algorithm>
#include <bit>

namespace cogen::detail {
namespace {

constexpr std::size_t min_nodes = 64;
constexpr int grown_at_once = 4;  // nodes

}  // namespace

context_table::context_table(std::size_t bytes, std::size_t longest)
    : nodes_(std::bit_floor(std::max(bytes / sizeof(node), min_nodes))), longest_(longest) {}

/// Where the node is, or an unused place for it.
std::uint32_t context_table::place_of(std::uint32_t parent, token id) const {
  const auto key = (std::uint64_t{parent} << 32 | static_cast<std::uint32_t>(id)) * 0x9E3779B97F4A7C15;
  const auto mask = nodes_.size() - 1;
  auto place = static_cast<std::size_t>(key >> 24) & mask;
  while (nodes_[place].parent != none && (nodes_[place].parent != parent || nodes_[place].id != id))
    place = (place + 1) & mask;
  return static_cast<std::uint32_t>(place);
}

void context_table::learn(std::span<const token> context, token next) {
  auto parent = root;
  int grown = 0;
  for (std::size_t i = 0; i < std::min(longest_, context.size()) && grown < grown_at_once && !full(); ++i) {
    const token id = context[context.size() - 1 - i];
    const auto place = place_of(parent, id);
    auto& entry = nodes_[place];
    if (entry.parent == none) {
      entry = {.parent = parent, .id = id};
      ++used_;
      ++grown;
    }
    if (entry.votes == 0) entry.next = next;
    entry.votes += entry.next == next ? 1 : -1;
    parent = place;
  }
}

std::optional<likely_token> context_table::find(std::span<const token> context, std::size_t least) const {
  std::optional<likely_token> best;
  auto parent = root;
  for (std::size_t matched = 1; matched <= std::min(longest_, context.size()); ++matched) {
    parent = place_of(parent, context[context.size() - matched]);
    const auto& entry = nodes_[parent];
    if (entry.parent == none) break;
    if (matched >= least && entry.votes > 0) best = {entry.next, matched};
  }
  return best;
}

void context_table::clear() {
  std::ranges::fill(nodes_, node());
  used_ = 0;
}

}  // namespace cogen::detail
