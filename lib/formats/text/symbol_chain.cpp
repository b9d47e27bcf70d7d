#include "formats/text/symbol_chain.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace cogen::text {
namespace {

constexpr std::size_t few = 24;
constexpr token merged_away = -1;
constexpr auto nowhere = std::numeric_limits<std::uint32_t>::max();

std::uint64_t proposal(std::uint32_t rank, std::uint32_t place) { return std::uint64_t{rank} << 32 | place; }

}  // namespace

void symbol_chain::merge_into(std::vector<token>& tokens, const merge_table& merges) {
  if (symbols_.size() <= few) {
    merge_few(merges);
  } else {
    merge_many(merges);
  }
  tokens.insert(tokens.end(), symbols_.begin(), symbols_.end());
}

void symbol_chain::merge_few(const merge_table& merges) {
  while (true) {
    const merge* best = nullptr;
    std::size_t index = 0;
    for (std::size_t i = 0; i + 1 < symbols_.size(); ++i) {
      auto* found = merges.find(symbols_[i], symbols_[i + 1]);
      if (found && (!best || found->rank < best->rank)) {
        best = found;
        index = i;
      }
    }
    if (!best) return;
    symbols_[index] = best->result;
    symbols_.erase(symbols_.begin() + static_cast<std::ptrdiff_t>(index) + 1);
  }
}

void symbol_chain::merge_many(const merge_table& merges) {
  link_all();
  proposals_.clear();
  for (place left = 0; left + 1 < symbols_.size(); ++left) {
    if (auto* found = merges.find(symbols_[left], symbols_[left + 1]))
      proposals_.push_back(proposal(found->rank, left));
  }
  std::make_heap(proposals_.begin(), proposals_.end(), std::greater{});
  while (apply_next(merges)) continue;
  drop_merged();
}

void symbol_chain::link_all() {
  auto count = static_cast<place>(symbols_.size());
  links_.resize(count);
  for (place i = 0; i < count; ++i) links_[i] = {i == 0 ? nowhere : i - 1, i + 1 == count ? nowhere : i + 1};
}

void symbol_chain::propose(place left, const merge_table& merges) {
  if (left == nowhere || links_[left].next == nowhere) return;
  auto* found = merges.find(symbols_[left], symbols_[links_[left].next]);
  if (!found) return;
  proposals_.push_back(proposal(found->rank, left));
  std::push_heap(proposals_.begin(), proposals_.end(), std::greater{});
}

bool symbol_chain::apply_next(const merge_table& merges) {
  if (proposals_.empty()) return false;
  std::pop_heap(proposals_.begin(), proposals_.end(), std::greater{});
  auto left = static_cast<place>(proposals_.back());
  auto rank = static_cast<std::uint32_t>(proposals_.back() >> 32);
  proposals_.pop_back();
  auto right = links_[left].next;
  if (symbols_[left] == merged_away || right == nowhere) return true;
  auto* found = merges.find(symbols_[left], symbols_[right]);
  if (!found || found->rank != rank) return true;
  symbols_[left] = found->result;
  symbols_[right] = merged_away;
  links_[left].next = links_[right].next;
  if (links_[right].next != nowhere) links_[links_[right].next].previous = left;
  propose(links_[left].previous, merges);
  propose(left, merges);
  return true;
}

void symbol_chain::drop_merged() { std::erase(symbols_, merged_away); }

}  // namespace cogen::text
