#include "engine/metrics/kv_block_events.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace cogen::detail {
namespace {

using scheduler::token_list;

/// Of a block of these tokens after what `parent` names.
load::sha256_digest digest_of(std::span<const std::uint64_t> parent, std::span<const token> tokens) {
  std::vector<std::byte> bytes(parent.size_bytes() + tokens.size_bytes());
  std::ranges::copy(std::as_bytes(tokens), std::ranges::copy(std::as_bytes(parent), bytes.begin()).out);
  return load::sha256(bytes);
}

load::sha256_digest digest_of_first(const scheduler::cache_salt& salt, std::span<const token> tokens) {
  const auto& [a, b, c, d] = salt.digest;
  return digest_of(std::array{salt.tenant, a, b, c, d}, tokens);
}

std::uint64_t told(const load::sha256_digest& block) { return block.back(); }

std::string name_of(const scheduler::cache_salt& salt) {
  if (salt == scheduler::cache_salt()) return {};
  return salt.digest == load::sha256_digest() ? std::to_string(salt.tenant) : load::hexadecimal(salt.digest);
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
  const bool comparable = now.cache_salt == known.prefix.cache_salt;
  const auto same = comparable ? common_length(now.tokens, known.prefix.tokens) / block_size_ : 0;
  auto& blocks = known.blocks;
  while (blocks.size() > same) {
    left_.push_back(blocks.back());
    blocks.pop_back();
  }
  known.prefix = std::move(now);
  if (known.prefix.tokens.size() / block_size_ > blocks.size()) store(known);
}

/// A block that no slot held is followed by such blocks alone, since each digest names all tokens before it, too.
void kv_block_events::store(holding& held) {
  auto& blocks = held.blocks;
  const std::span tokens(held.prefix.tokens);
  kv_blocks_stored event{.cache_salt = name_of(held.prefix.cache_salt)};
  while (tokens.size() / block_size_ > blocks.size()) {
    const auto content = tokens.subspan(blocks.size() * block_size_, block_size_);
    const auto parent = blocks.empty() ? std::nullopt : std::optional(blocks.back());
    blocks.push_back(parent ? digest_of(*parent, content) : digest_of_first(held.prefix.cache_salt, content));
    if (++holders_[blocks.back()] > 1) continue;
    if (event.block_hashes.empty() && parent) event.parent_block_hash = told(*parent);
    event.block_hashes.push_back(told(blocks.back()));
    event.token_ids.insert(event.token_ids.end(), content.begin(), content.end());
  }
  if (!event.block_hashes.empty()) batch_.emplace_back(std::move(event));
}

/// After what was stored, so that a block that goes from one slot to another is not removed in between.
void kv_block_events::remove_left() {
  kv_blocks_removed event;
  for (const auto& block : left_) {
    const auto found = holders_.find(block);
    if (--found->second > 0) continue;
    holders_.erase(found);
    event.block_hashes.push_back(told(block));
  }
  left_.clear();
  if (!event.block_hashes.empty()) batch_.emplace_back(std::move(event));
}

}  // namespace cogen::detail
