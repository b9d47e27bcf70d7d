#include "network/backend/cpu/generic_attention.hpp"

#include "network/kernels/rounded.hpp"

#include <cogen/detail/cache/mask.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace cogen::cpu {

namespace {

constexpr float no_sink = -std::numeric_limits<float>::infinity();

void rotate(const float* cosines, const float* sines, std::size_t pairs, float* head) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const float left = head[i];
    const float right = head[i + pairs];
    head[i] = left * cosines[i] - right * sines[i];
    head[i + pairs] = right * cosines[i] + left * sines[i];
  }
}

/// Heads of qkv from number `first` on, [kv_heads, tokens, head_dim].
cache::head_rows heads_at(const activations& qkv, std::int64_t first, const models::attention_spec& shape) {
  return {.data = qkv.data + first * shape.head_dim,
          .heads = shape.kv_heads,
          .tokens = static_cast<int>(qkv.rows),
          .dims = shape.head_dim,
          .head_stride = shape.head_dim,
          .token_stride = qkv.stride};
}

cache::head_rows keys_of(const activations& qkv, const models::attention_spec& shape) {
  return heads_at(qkv, shape.heads, shape);
}

/// Behind the keys, or their first numbers.
cache::head_rows values_of(const activations& qkv, const models::attention_spec& shape) {
  if (shape.kv.latent_dim > 0) return keys_of(qkv, shape).first_dims(shape.kv.latent_dim);
  return heads_at(qkv, shape.heads + shape.kv_heads, shape);
}

/// Keys and values of one slot with the mask of its new queries.
struct remembered {
  cache::keys_values tokens;
  std::vector<char> mask;  // [count, length]
  cache::kv_extent extent;

  /// Of the `index`-th key.
  std::int64_t position(std::int64_t index) const {
    return index < extent.sinks ? index : extent.kv_offset + index - extent.sinks;
  }
};

remembered recall(const cache::layer& layer, int slot, const kernels::token_rows& row) {
  remembered held{.tokens = layer.to_dense(slot, static_cast<int>(row.offset + row.count)),
                  .mask = {},
                  .extent = layer.mask_sizes(slot, static_cast<int>(row.count))};
  const cache::mask rule = layer.rule();
  held.mask.reserve(static_cast<std::size_t>(row.count * held.extent.kv_length));
  for (std::int64_t query = row.offset; query < row.offset + row.count; ++query)
    for (int key = 0; key < held.extent.kv_length; ++key) held.mask.push_back(rule(query, held.position(key)));
  return held;
}

float dot(const float* a, const float* b, std::int64_t size) {
  float sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

/// Softmax over the columns that are seen and the sink's logit; the others become 0.
void soften(std::span<float> scores, const char* seen, float sink_logit) {
  float greatest = sink_logit;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (seen[j]) greatest = std::max(greatest, scores[j]);
  }
  float sum = sink_logit == no_sink ? 0 : std::exp(sink_logit - greatest);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    scores[j] = seen[j] ? std::exp(scores[j] - greatest) : 0.0F;
    sum += scores[j];
  }
  for (auto& score : scores) score /= sum;
}

float sink_logit(const scored_heads& heads, std::int64_t head) {
  return heads.sink_logits.empty() ? no_sink : heads.sink_logits[static_cast<std::size_t>(head)];
}

/// `distance` is the key's position minus the query's.
float adjusted(float score, std::int64_t distance, const scored_heads& heads, std::int64_t head) {
  const auto& spec = heads.spec;
  if (spec.softcap > 0) score = spec.softcap * kernels::rounded_tanh(score / spec.softcap);
  if (spec.alibi) score += spec.alibi->slopes[static_cast<std::size_t>(head)] * static_cast<float>(distance);
  if (spec.relative_bias) {
    const auto most = spec.relative_bias->max_distance;
    const auto place = head * (2 * most + 1) + most + std::clamp(distance, -most, most);
    score += heads.distance_biases[static_cast<std::size_t>(place)];
  }
  return score;
}

/// One query of one head: the first of `q` [head_dim] are replaced by the weighted values.
void attend_one(float* q, std::int64_t position, std::int64_t head, const char* seen, const remembered& held,
                const scored_heads& heads, std::span<float> scores) {
  const auto& spec = heads.spec;
  const auto width = spec.head_dim;
  const auto length = static_cast<int>(scores.size());
  const auto& [k, v, memory] = held.tokens;
  const auto kv_head = static_cast<int>(head / (spec.heads / spec.kv_heads));
  const auto scale = static_cast<float>(spec.scale);
  for (int j = 0; j < length; ++j) {
    const float score = scale * dot(q, k.row(kv_head, j), width);
    scores[static_cast<std::size_t>(j)] = adjusted(score, held.position(j) - position, heads, head);
  }
  soften(scores, seen, sink_logit(heads, head));
  std::fill_n(q, v.dims, 0.0F);
  for (int j = 0; j < length; ++j) {
    const float* value = v.row(kv_head, j);
    for (int i = 0; i < v.dims; ++i) q[i] += scores[static_cast<std::size_t>(j)] * value[i];
  }
}

void attend_row(const forward_context& context, const kernels::token_rows& row, const remembered& held,
                const scored_heads& heads, const activations& qkv) {
  const auto& spec = heads.spec;
  const auto length = std::int64_t{held.tokens.k.tokens};
  context.run.workers->parallel(row.count * spec.heads, [&](std::int64_t task, int) {
    const auto query = task / spec.heads;
    const auto head = task % spec.heads;
    std::vector<float> scores(static_cast<std::size_t>(length));
    attend_one(qkv.row(row.first + query) + head * spec.head_dim, row.offset + query, head,
               held.mask.data() + query * length, held, heads, scores);
  });
}

}  // namespace

// Both lie side by side, so they are one run of heads.
void rotate_queries_and_keys(const forward_context& context, const kernels::rope_table& rope,
                             const models::attention_spec& spec, const activations& qkv) {
  const auto pairs = static_cast<std::size_t>(rope.pairs());
  std::vector<float> spare(2 * pairs);
  for (const auto& row : context.rows) {
    for (std::int64_t i = 0; i < row.count; ++i) {
      const float* cosines = rope.angles(row.offset + i, spare.data());
      float* heads = qkv.row(row.first + i) + (spec.rope ? spec.rope->first_dim : 0);
      for (int head = 0; head < spec.heads + (spec.shared_kv ? 0 : spec.kv_heads); ++head) {
        rotate(cosines, cosines + pairs, pairs, heads + std::int64_t{head} * spec.head_dim);
      }
    }
  }
}

void attend_generically(const forward_context& context, cache::layer& layer, const kernels::rope_table* rope,
                        const scored_heads& heads, const activations& qkv) {
  const auto& shape = heads.spec;
  if (rope != nullptr) rotate_queries_and_keys(context, *rope, shape, qkv);
  if (!shape.shared_kv) layer.append(context.step, keys_of(qkv, shape), values_of(qkv, shape));
  const auto slots = context.step.rows();
  for (std::size_t index = 0; index < slots.size(); ++index) {
    const auto& row = context.rows[index];
    attend_row(context, row, recall(layer, slots[index].slot, row), heads, qkv);
  }
}

}  // namespace cogen::cpu
