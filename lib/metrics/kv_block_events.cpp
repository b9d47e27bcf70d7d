#include "metrics/kv_block_events.hpp"

#include "load/checksum.hpp"

#include <algorithm>
#include <utility>

namespace cogen::detail {
namespace {

using scheduler::token_list;

/// The hash of a block after one of hash `before`.
std::uint64_t hash_of(std::uint64_t before, std::span<const token> tokens) {
  std::vector<std::byte> bytes(sizeof before + tokens.size_bytes());
  const auto as_written = std::as_bytes(std::span(&before, 1));
  std::ranges::copy(std::as_bytes(tokens), std::ranges::copy(as_written, bytes.begin()).out);
  return load::checksum_of(bytes);
}

/// How many first tokens are the same. Lists that share memory are not compared.
std::size_t common_length(const token_list& a, const token_list& b) {
  if (a.data() == b.data()) return std::min(a.size(), b.size());
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

kv_block_events::kv_block_events(const kv_options& options, const scheduler::scheduler& plans, int slots, log log)
    : sink_(options.events),
      block_size_(static_cast<std::size_t>(options.event_block_size)),
      plans_(plans),
      log_(std::move(log)) {
  if (!sink_) return;
  slots_.resize(static_cast<std::size_t>(slots));
  batch_.emplace_back(kv_blocks_cleared{});
}

void kv_block_events::compare() noexcept try {
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) look_at(slot);
  remove_left();
  if (!batch_.empty()) sink_->on_kv_events(batch_);
  batch_.clear();
} catch (...) {
  sink_.reset();
  log_("the sink of KV events was released", std::current_exception());
}

void kv_block_events::look_at(int slot) {
  auto& known = slots_[static_cast<std::size_t>(slot)];
  auto now = plans_.shareable(slot);
  const bool comparable = now.cache_salt == known.what.cache_salt;
  const auto same = comparable ? common_length(now.tokens, known.what.tokens) / block_size_ : 0;
  auto& hashes = known.block_hashes;
  while (hashes.size() > same) {
    left_.push_back(hashes.back());
    hashes.pop_back();
  }
  known.what = std::move(now);
  if (known.what.tokens.size() / block_size_ > hashes.size()) store(known);
}

/// A block that no slot held is followed by such blocks alone, since each hash names all tokens before it, too.
void kv_block_events::store(holding& of) {
  auto& hashes = of.block_hashes;
  const std::span tokens(of.what.tokens);
  kv_blocks_stored made{.cache_salt = of.what.cache_salt};
  while (tokens.size() / block_size_ > hashes.size()) {
    const auto block = tokens.subspan(hashes.size() * block_size_, block_size_);
    const auto before = hashes.empty() ? std::nullopt : std::optional(hashes.back());
    const auto hash = hash_of(before.value_or(of.what.cache_salt), block);
    hashes.push_back(hash);
    if (++holders_[hash] > 1) continue;
    if (made.block_hashes.empty()) made.parent_block_hash = before;
    made.block_hashes.push_back(hash);
    made.token_ids.insert(made.token_ids.end(), block.begin(), block.end());
  }
  if (!made.block_hashes.empty()) batch_.emplace_back(std::move(made));
}

/// After what was stored, so that a block that goes from one slot to another is not removed in between.
void kv_block_events::remove_left() {
  kv_blocks_removed made;
  for (const auto hash : left_) {
    const auto found = holders_.find(hash);
    if (--found->second > 0) continue;
    holders_.erase(found);
    made.block_hashes.push_back(hash);
  }
  left_.clear();
  if (!made.block_hashes.empty()) batch_.emplace_back(std::move(made));
}

}  // namespace cogen::detail
