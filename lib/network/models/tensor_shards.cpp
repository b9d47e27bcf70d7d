#include "network/models/tensor_shards.hpp"

#include <algorithm>
#include <variant>
#include <vector>

namespace cogen::models {

namespace {

/// As many of `total` for each rank as for any other, to within one `unit`. All of it are units where they do not
/// suffice.
shard evenly(std::int64_t total, parallel::place rank, std::int64_t unit = 1) {
  if (total / unit < rank.count) unit = 1;
  const auto units = total / unit;
  const auto begin_of = [&](std::int64_t index) {
    return index == rank.count ? total : units * index / rank.count * unit;
  };
  const auto first = begin_of(rank.index);
  return {.first = first, .count = begin_of(rank.index + 1) - first, .total = total};
}

/// The key head of a rank, where there are more ranks than key heads, and its place among the ranks that have the same.
struct shared_head {
  std::int64_t head;
  parallel::place rank;
};

shared_head shared_head_of(std::int64_t kv_heads, parallel::place rank) {
  const auto begin_of = [&](std::int64_t head) { return head * rank.count / kv_heads; };
  std::int64_t head = 0;
  while (begin_of(head + 1) <= rank.index) ++head;
  const auto begin = begin_of(head);
  return {head, {static_cast<int>(rank.index - begin), static_cast<int>(begin_of(head + 1) - begin)}};
}

void set_heads(attention_spec& spec, const shard& q, const shard& kv) {
  spec.q_shard = q;
  spec.kv_shard = kv;
  spec.heads = static_cast<int>(q.count);
  spec.kv_heads = spec.kv.kv_heads = static_cast<int>(kv.count);
  if (!spec.alibi) return;
  auto& slopes = spec.alibi->slopes;
  slopes = {slopes.begin() + q.first, slopes.begin() + q.first + q.count};
}

void split(attention_spec& spec, parallel::place rank, std::int64_t) {
  const bool norms_across_heads = spec.qk_norm && spec.qk_norm->over == qk_norm_spec::scope::width;
  if (spec.heads < rank.count || norms_across_heads || !spec.adapters.empty()) return;
  const std::int64_t heads = spec.heads, kv_heads = spec.kv_heads, group = heads / kv_heads;
  if (kv_heads >= rank.count) {
    const auto kv = evenly(kv_heads, rank);
    return set_heads(spec, {kv.first * group, kv.count * group, heads}, kv);
  }
  const auto [head, among] = shared_head_of(kv_heads, rank);
  const auto queries = evenly(group, among);
  set_heads(spec, {head * group + queries.first, queries.count, heads}, {head, 1, kv_heads});
}

void split(latent_attention_spec& spec, parallel::place rank, std::int64_t) {
  if (spec.heads < rank.count) return;
  spec.q_shard = evenly(spec.heads, rank);
  spec.heads = static_cast<int>(spec.q_shard.count);
}

void split(mlp_spec& spec, parallel::place rank, std::int64_t unit) {
  if (spec.intermediate < rank.count || !spec.adapters.empty() || spec.gate_cutoff) return;
  spec.columns = evenly(spec.intermediate, rank, unit);
  spec.intermediate = spec.columns.count;
}

void split(moe_spec& spec, parallel::place rank, std::int64_t unit) {
  auto shared = spec.shared;
  if (shared) split(shared->mlp, rank, unit);
  if (spec.experts < rank.count || (shared && !shared->mlp.columns)) return;
  spec.owned = evenly(spec.experts, rank);
  spec.shared = shared;
}

template <class Mixer>
void split(Mixer&, parallel::place, std::int64_t) {}

void split(std::vector<block_spec>& blocks, parallel::place rank, std::int64_t unit) {
  for (auto& block : blocks) std::visit([&](auto& part) { split(part, rank, unit); }, block.part);
}

}  // namespace

model_spec shard_of(model_spec spec, std::int64_t vocabulary, parallel::place rank, std::int64_t unit) {
  if (rank.count == 1) return spec;
  split(spec.blocks, rank, unit);
  if (spec.encoder) split(spec.encoder->blocks, rank, unit);
  spec.vocabulary = vocabulary_shard(vocabulary, rank);
  return spec;
}

shard vocabulary_shard(std::int64_t vocabulary, parallel::place rank) {
  if (rank.count == 1 || vocabulary < rank.count) return {};
  return evenly(vocabulary, rank);
}

shard logits_columns(std::int64_t vocabulary, parallel::place rank) {
  const auto own = vocabulary_shard(vocabulary, rank);
  return own ? own : shard{.count = vocabulary};
}

}  // namespace cogen::models
