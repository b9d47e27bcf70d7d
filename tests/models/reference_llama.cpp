#include "reference_llama.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/tril.h>

#include <cmath>

namespace cogen::test {

namespace {

at::Tensor read(const load::checkpoint& files, const std::string& name) {
  const auto weight = files.find(name).value();
  auto tensor = at::empty(weight.shape(), at::kFloat);
  weight.read_rows_as_float(0, weight.rows(), {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())});
  return tensor;
}

}  // namespace

reference_llama::reference_llama(const load::checkpoint& files)
    : config_(files.config()),
      embedding_(read(files, "model.embed_tokens.weight")),
      norm_(read(files, "model.norm.weight")),
      head_(config_.tie_embeddings ? embedding_ : read(files, "lm_head.weight")) {
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    const auto named = [&](const std::string& name) {
      return read(files, "model.layers." + std::to_string(i) + "." + name + ".weight");
    };
    layers_.push_back({named("input_layernorm"), named("self_attn.q_proj"), named("self_attn.k_proj"),
                       named("self_attn.v_proj"), named("self_attn.o_proj"), named("post_attention_layernorm"),
                       named("mlp.gate_proj"), named("mlp.up_proj"), named("mlp.down_proj")});
  }
}

at::Tensor reference_llama::normalize(const at::Tensor& x, const at::Tensor& weight) const {
  return x * at::rsqrt(at::pow(x, 2).mean(-1, true) + config_.rms_norm_eps) * weight;
}

/// heads [heads, tokens, head_dim], standard frequencies.
at::Tensor reference_llama::rotate(const at::Tensor& heads) const {
  const auto half = config_.head_dim / 2;
  const auto pairs = at::arange(half, at::kDouble) * (-2.0 / static_cast<double>(config_.head_dim));
  const auto inverse = at::pow(at::tensor(config_.rope.theta, at::kDouble), pairs);
  const auto angles = at::arange(heads.size(1), at::kDouble).unsqueeze(1) * inverse;
  const auto cosines = angles.cos().to(at::kFloat);
  const auto sines = angles.sin().to(at::kFloat);
  const auto left = heads.narrow(2, 0, half);
  const auto right = heads.narrow(2, half, half);
  return at::cat({left * cosines - right * sines, right * cosines + left * sines}, 2);
}

at::Tensor reference_llama::attend(const at::Tensor& x, const decoder_layer& layer) const {
  const auto tokens = x.size(0);
  const auto heads_of = [&](const at::Tensor& weight, std::int64_t heads) {
    return at::linear(x, weight).view({tokens, heads, config_.head_dim}).transpose(0, 1);
  };
  const auto group = config_.heads / config_.kv_heads;
  const auto q = rotate(heads_of(layer.q, config_.heads));
  const auto k = rotate(heads_of(layer.k, config_.kv_heads)).repeat_interleave(group, 0);
  const auto v = heads_of(layer.v, config_.kv_heads).repeat_interleave(group, 0);
  const auto unseen = at::ones({tokens, tokens}, at::kBool).tril().logical_not();
  const auto scores = at::matmul(q, k.transpose(1, 2)) / std::sqrt(static_cast<double>(config_.head_dim));
  const auto weights = at::softmax(scores.masked_fill(unseen, -INFINITY), -1);
  return at::linear(at::matmul(weights, v).transpose(0, 1).reshape({tokens, -1}), layer.o);
}

at::Tensor reference_llama::forward(std::span<const token> tokens) const {
  const auto ids = at::tensor(at::ArrayRef<token>(tokens.data(), tokens.size()), at::kInt);
  auto x = at::embedding(embedding_, ids);
  for (const auto& layer : layers_) {
    x = x + attend(normalize(x, layer.input_norm), layer);
    const auto normed = normalize(x, layer.mlp_norm);
    x = x + at::linear(at::silu(at::linear(normed, layer.gate)) * at::linear(normed, layer.up), layer.down);
  }
  return at::linear(normalize(x, norm_), head_);
}

}  // namespace cogen::test
