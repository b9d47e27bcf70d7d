#pragma once

#include "oracle.hpp"
#include "variants.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

namespace cogen::kernels {

inline constexpr float scale = 0.3F;  // of products of queries and keys

/// A fixture: LibTorch's own threads wait by spinning, which costs oracles this small more than it brings.
struct one_torch_thread {
  one_torch_thread() { at::set_num_threads(1); }
};

struct attention_shape {
  int heads;
  int kv_heads;
  int head_dim;

  std::int64_t q_width() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * head_dim; }
};

/// Random queries, keys and values of a sequence. The queries for sinks are sampled apart from the others.
struct attention_numbers {
  attention_shape form;
  std::int64_t length;
  std::vector<float> q, sink_q;  // [length, heads, head_dim]
  std::vector<float> k, v;       // [length, kv_heads, head_dim]

  attention_numbers(const attention_shape& shape, std::int64_t tokens, std::uint32_t seed)
      : form(shape),
        length(tokens),
        q(random_floats(static_cast<std::size_t>(tokens * shape.q_width()), seed)),
        sink_q(random_floats(static_cast<std::size_t>(tokens * shape.q_width()), seed + 1)),
        k(random_floats(static_cast<std::size_t>(tokens * shape.kv_width()), seed + 2)),
        v(random_floats(static_cast<std::size_t>(tokens * shape.kv_width()), seed + 3)) {}

  /// [heads, length, head_dim]
  at::Tensor queries(const std::vector<float>& values) const {
    return tensor(values, {length, form.heads, form.head_dim}).transpose(0, 1);
  }
  at::Tensor tokens(const std::vector<float>& values) const {
    return tensor(values, {length, form.kv_heads, form.head_dim}).transpose(0, 1);
  }
  /// Of [kv_heads, length, head_dim], as query heads see them.
  at::Tensor shared(const at::Tensor& kv) const { return kv.repeat_interleave(form.heads / form.kv_heads, 0); }
};

/// Where queries and keys meet otherwise than everywhere: `which` [q, kv] is true there.
struct other_keys {
  at::Tensor which;
  at::Tensor scores;  // [heads, q, kv]
  at::Tensor values;  // [heads, kv, head_dim]
};

/// [q, heads, head_dim]: softmax of the scores [heads, q, kv] that are `seen` [q, kv], times values [heads, kv,
/// head_dim], in double.
inline at::Tensor attended(at::Tensor scores, const at::Tensor& values, const at::Tensor& seen,
                           const std::optional<other_keys>& other = {}) {
  if (other) scores = at::where(other->which, other->scores, scores);
  const at::Tensor weights = at::softmax(scores.masked_fill(seen.logical_not(), -INFINITY), -1);
  if (!other) return at::matmul(weights, values).transpose(0, 1).contiguous();
  const at::Tensor here = at::matmul(weights * other->which.logical_not(), values);
  return (here + at::matmul(weights * other->which, other->values)).transpose(0, 1).contiguous();
}

}  // namespace cogen::kernels
