#include "decoding/ngram_index.hpp"

#include <algorithm>

namespace cogen::detail {
namespace {

constexpr std::size_t min_buckets = 256;

}  // namespace

std::size_t ngram_index::after_latest_match(std::span<const token> history) {
  if (history.size() <= least_) return history.size();
  read(history);
  std::size_t longest = least_ - 1, found = history.size();
  for (std::size_t end = latest_[bucket_of(history.last(least_))]; end > 0 && longest < most_; end = previous_[end]) {
    const auto length = matching(history, end);
    if (length > longest) longest = length, found = end;
  }
  return found;
}

/// Adds the n-grams that end before the history does.
void ngram_index::read(std::span<const token> history) {
  if (previous_.size() > history.size()) previous_.clear(), latest_.clear();
  if (history.size() > latest_.size()) grow(history);
  for (auto end = previous_.size(); end < history.size(); ++end) add(history, end);
}

void ngram_index::grow(std::span<const token> history) {
  auto buckets = std::max(latest_.size(), min_buckets);
  while (buckets < history.size()) buckets *= 2;
  const auto known = previous_.size();
  latest_.assign(buckets, 0);
  previous_.clear();
  for (std::size_t end = 0; end < known; ++end) add(history, end);
}

void ngram_index::add(std::span<const token> history, std::size_t end) {
  previous_.push_back(0);
  if (end < least_) return;
  auto& latest = latest_[bucket_of(history.subspan(end - least_, least_))];
  previous_[end] = latest;
  latest = static_cast<std::uint32_t>(end);
}

std::size_t ngram_index::bucket_of(std::span<const token> ngram) const {
  std::uint64_t hash = 0;
  for (const token id : ngram) hash = (hash ^ static_cast<std::uint32_t>(id)) * 0x9E3779B97F4A7C15;
  return static_cast<std::size_t>(hash >> 32) & (latest_.size() - 1);
}

/// How many tokens before `end` are the last ones of the history, at most `most_`.
std::size_t ngram_index::matching(std::span<const token> history, std::size_t end) const {
  const auto most = std::min(most_, end);
  std::size_t length = 0;
  while (length < most && history[end - 1 - length] == history[history.size() - 1 - length]) ++length;
  return length;
}

}  // namespace cogen::detail
