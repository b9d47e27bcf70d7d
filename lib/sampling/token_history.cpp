#include "sampling/token_history.hpp"

#include <algorithm>

namespace cogen {
namespace {

std::size_t first_bucket(token id, std::size_t buckets) {
  return (static_cast<std::uint32_t>(id) * std::uint32_t{0x9E3779B1} >> 7) & (buckets - 1);
}

}  // namespace

token_history::token_history(const scheduler::token_list& tokens, const std::vector<std::uint8_t>& generated)
    : tokens_(tokens),
      was_generated_(generated.begin(), generated.end()),
      generated_(static_cast<std::size_t>(std::ranges::count(was_generated_, true))) {}

void token_history::append_given(std::span<const token> tokens) {
  for (const token id : tokens) append(id, false);
}

void token_history::extend(const scheduler::token_list& tokens) {
  tokens_ = tokens.first(length());
  append_given(std::span(tokens).subspan(length()));  // finds them there
}

void token_history::append_generated(token id) { append(id, true); }

/// Where memory is short, nothing has changed but for an entry of 0.
void token_history::append(token id, bool generated) {
  if (counting_) entry(id);
  was_generated_.push_back(generated);
  try {
    tokens_.push_back(id);
  } catch (...) {
    was_generated_.pop_back();
    throw;
  }
  generated_ += generated ? 1 : 0;
  if (counting_) add(id, generated, 1);
}

void token_history::truncate(std::size_t length) {
  for (; was_generated_.size() > length; was_generated_.pop_back()) {
    const bool generated = was_generated_.back();
    if (counting_) add(tokens()[was_generated_.size() - 1], generated, -1);
    generated_ -= generated ? 1 : 0;
  }
  tokens_.truncate(length);
}

token_history token_history::first(std::size_t length) const {
  token_history result;
  result.tokens_ = tokens_.first(length);
  const auto count = static_cast<std::ptrdiff_t>(result.length());
  result.was_generated_.assign(was_generated_.begin(), was_generated_.begin() + count);
  result.generated_ = static_cast<std::size_t>(std::ranges::count(result.was_generated_, true));
  return result;
}

std::span<const token_count> token_history::counts() {
  if (!counting_) {
    counts_.clear();  // of an attempt that memory was too short for
    buckets_.clear();
    for (std::size_t i = 0; i < length(); ++i) add(tokens()[i], was_generated_[i], 1);
    counting_ = true;
  }
  return counts_;
}

void token_history::add(token id, bool generated, int change) {
  token_count& count = entry(id);
  count.total += static_cast<std::uint32_t>(change);
  if (generated) count.generated += static_cast<std::uint32_t>(change);
}

token_count& token_history::entry(token id) {
  if (2 * (counts_.size() + 1) > buckets_.size()) rehash(buckets_.empty() ? 64 : 2 * buckets_.size());
  std::size_t bucket = first_bucket(id, buckets_.size());
  for (; buckets_[bucket] != 0; bucket = (bucket + 1) & (buckets_.size() - 1))
    if (token_count& found = counts_[buckets_[bucket] - 1]; found.id == id) return found;
  token_count& added = counts_.emplace_back(token_count{id, 0, 0});
  buckets_[bucket] = static_cast<std::uint32_t>(counts_.size());
  return added;
}

void token_history::rehash(std::size_t buckets) {
  buckets_.assign(buckets, 0);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    std::size_t bucket = first_bucket(counts_[i].id, buckets);
    while (buckets_[bucket] != 0) bucket = (bucket + 1) & (buckets - 1);
    buckets_[bucket] = static_cast<std::uint32_t>(i + 1);
  }
}

}  // namespace cogen
