#include "network/backend/cpu/generic_attention.hpp"

#include <cogen/detail/cache/mask.hpp>

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace cogen::cpu {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

void rotate(const float* cosines, const float* sines, std::size_t pairs, float* head) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const float left = head[i];
    const float right = head[i + pairs];
    head[i] = left * cosines[i] - right * sines[i];
    head[i + pairs] = right * cosines[i] + left * sines[i];
  }
}

/// [tokens, kv_heads, head_dim]
at::Tensor heads_at(const activations& qkv, std::int64_t first_head, const models::attention_spec& shape) {
  return at::from_blob(qkv.data + first_head * shape.head_dim, {qkv.rows, shape.kv_heads, shape.head_dim},
                       {qkv.stride, shape.head_dim, 1}, at::kFloat);
}

at::Tensor keys_of(const activations& qkv, const models::attention_spec& shape) {
  return heads_at(qkv, shape.heads, shape);
}

/// Behind the keys, or their first numbers.
at::Tensor values_of(const activations& qkv, const models::attention_spec& shape) {
  if (shape.kv.latent_dim > 0) return keys_of(qkv, shape).narrow(2, 0, shape.kv.latent_dim);
  return heads_at(qkv, shape.heads + shape.kv_heads, shape);
}

/// Keys and values of one slot with the mask of its new queries.
struct remembered {
  at::Tensor k;     // [kv_heads, length, head_dim] float32
  at::Tensor v;     // [kv_heads, length, value_dim] float32
  at::Tensor mask;  // [count, length] bool
  cache::kv_extent extent;

  /// Of the `index`-th key.
  std::int64_t position(std::int64_t index) const {
    return index < extent.sinks ? index : extent.kv_offset + index - extent.sinks;
  }
};

/// [count, extent.kv_length]
at::Tensor mask_of(const cache::layer& layer, const cache::kv_extent& extent, const kernels::token_rows& row) {
  const auto window = [&](int kv_length, int kv_offset) {
    return cache::to_dense(layer.rule(), {.q_length = static_cast<int>(row.count),
                                          .q_offset = static_cast<int>(row.offset),
                                          .kv_length = kv_length,
                                          .kv_offset = kv_offset});
  };
  const auto newest = window(extent.kv_length - extent.sinks, extent.kv_offset);
  return extent.sinks == 0 ? newest : at::cat({window(extent.sinks, 0), newest}, 1);
}

remembered recall(const cache::layer& layer, int slot, const kernels::token_rows& row) {
  const auto extent = layer.mask_sizes(slot, static_cast<int>(row.count));
  const auto held = layer.to_dense(slot, static_cast<int>(row.offset + row.count));
  return {.k = held.k.to(at::kFloat).contiguous(),
          .v = held.v.to(at::kFloat).contiguous(),
          .mask = mask_of(layer, extent, row),
          .extent = extent};
}

float dot(const float* a, const float* b, std::int64_t size) {
  float sum = 0;
  for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

/// Softmax over the columns that are seen and the sink's logit; the others become 0.
void soften(std::span<float> scores, const bool* seen, float sink_logit) {
  float greatest = sink_logit;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (seen[j]) greatest = std::max(greatest, scores[j]);
  }
  float sum = sink_logit == -infinity ? 0 : std::exp(sink_logit - greatest);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    scores[j] = seen[j] ? std::exp(scores[j] - greatest) : 0.0F;
    sum += scores[j];
  }
  for (auto& score : scores) score /= sum;
}

float sink_logit(const scored_heads& heads, std::int64_t head) {
  return heads.sink_logits.empty() ? -infinity : heads.sink_logits[static_cast<std::size_t>(head)];
}

/// `distance` is the key's position minus the query's.
float adjusted(float score, std::int64_t distance, const scored_heads& heads, std::int64_t head) {
  const auto& spec = heads.spec;
  if (spec.softcap > 0) score = spec.softcap * std::tanh(score / spec.softcap);
  if (spec.alibi) score += spec.alibi->slopes[static_cast<std::size_t>(head)] * static_cast<float>(distance);
  if (spec.relative_bias) {
    const auto most = spec.relative_bias->max_distance;
    const auto place = head * (2 * most + 1) + most + std::clamp(distance, -most, most);
    score += heads.distance_biases[static_cast<std::size_t>(place)];
  }
  return score;
}

/// One query of one head: the first of `q` [head_dim] are replaced by the weighted values.
void attend_one(float* q, std::int64_t position, std::int64_t head, const bool* seen, const remembered& held,
                const scored_heads& heads, std::span<float> scores) {
  const auto& spec = heads.spec;
  const auto width = spec.head_dim;
  const auto length = static_cast<std::int64_t>(scores.size());
  const auto value_width = held.v.size(2);
  const auto begin = head / (spec.heads / spec.kv_heads) * length;
  const float* const keys = held.k.const_data_ptr<float>() + begin * width;
  const float* const values = held.v.const_data_ptr<float>() + begin * value_width;
  const auto scale = static_cast<float>(spec.scale);
  for (std::int64_t j = 0; j < length; ++j) {
    const float score = scale * dot(q, keys + j * width, width);
    scores[static_cast<std::size_t>(j)] = adjusted(score, held.position(j) - position, heads, head);
  }
  soften(scores, seen, sink_logit(heads, head));
  std::fill_n(q, value_width, 0.0F);
  for (std::int64_t j = 0; j < length; ++j) {
    const float* value = values + j * value_width;
    for (std::int64_t i = 0; i < value_width; ++i) q[i] += scores[static_cast<std::size_t>(j)] * value[i];
  }
}

void attend_row(const forward_context& context, const kernels::token_rows& row, const remembered& held,
                const scored_heads& heads, const activations& qkv) {
  const auto& spec = heads.spec;
  const auto length = held.k.size(1);
  const auto* seen = held.mask.const_data_ptr<bool>();
  context.run.workers->parallel(row.count * spec.heads, [&](std::int64_t task, int) {
    const auto query = task / spec.heads;
    const auto head = task % spec.heads;
    std::vector<float> scores(static_cast<std::size_t>(length));
    attend_one(qkv.row(row.first + query) + head * spec.head_dim, row.offset + query, head, seen + query * length, held,
               heads, scores);
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
