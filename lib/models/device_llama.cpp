#include "models/device_llama.hpp"

#include "layers/rope.hpp"
#include "models/attention_shapes.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace cogen::models {

namespace {

/// Rotations of further positions than these are not kept: they would take more than a cache does.
constexpr std::int64_t most_positions = 1 << 18;

/// Cosines and sines of all positions, [positions, 2 * pairs] float32.
at::Tensor rotations(const load::model_config& config, at::Device device) {
  const auto turns = layers::frequencies(config.rope);
  const auto positions = std::min(config.max_positions, most_positions);
  const kernels::rope_table table(turns.inverse, turns.attention_scaling, positions);
  auto values = at::empty({positions, 2 * table.pairs()}, at::kFloat);
  for (std::int64_t position = 0; position < positions; ++position) {
    float* const row = values.mutable_data_ptr<float>() + position * values.size(1);
    const float* const kept = table.at(position, row);
    if (kept != row) std::copy_n(kept, values.size(1), row);
  }
  return values.to(device);
}

struct device_layer {
  at::Tensor before_attention;
  at::Tensor qkv;
  at::Tensor qkv_bias;
  at::Tensor output;
  at::Tensor output_bias;
  at::Tensor before_mlp;
  at::Tensor gate_up;
  at::Tensor gate_up_bias;
  at::Tensor down;
  at::Tensor down_bias;
};

class device_llama final : public device_network {
 public:
  device_llama(const load::model_config& config, std::vector<cache::layer_shape> shapes, device_weights& weights)
      : config_(config), shapes_(std::move(shapes)) {
    if (config.activation != "silu" && config.activation != "swish")
      throw std::invalid_argument(
          fmt::format("the activation \"{}\" is not known on devices; known is: silu", config.activation));
    embedding_ =
        weights.matrix(std::array{layers::named_rows{"model.embed_tokens.weight", config.vocabulary}}, config.hidden);
    for (std::int64_t index = 0; index < config.layers; ++index) read_layer(weights, index);
    norm_ = weights.vector(std::array{layers::named_rows{"model.norm.weight", config.hidden}});
    head_ = config.tie_embeddings
                ? embedding_
                : weights.matrix(std::array{layers::named_rows{"lm_head.weight", config.vocabulary}}, config.hidden);
    rope_ = rotations(config, device());
    attention_ = {.heads = config.heads,
                  .kv_heads = config.kv_heads,
                  .head_dim = config.head_dim,
                  .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config.head_dim)))};
  }

  const std::vector<cache::layer_shape>& layer_shapes() const noexcept override { return shapes_; }
  std::int64_t weight_bytes() const noexcept override { return bytes_ + static_cast<std::int64_t>(head_.nbytes()); }
  at::ScalarType type() const noexcept override { return embedding_.scalar_type(); }
  at::Device device() const noexcept override { return embedding_.device(); }

  device_scratch make_scratch(std::int64_t tokens) const override {
    const auto rows_of = [&](std::int64_t width, at::ScalarType type) {
      return at::empty({tokens, width}, at::TensorOptions(device()).dtype(type));
    };
    return {.x = rows_of(config_.hidden, at::kFloat),
            .normed = rows_of(config_.hidden, type()),
            .delta = rows_of(config_.hidden, type()),
            .qkv = rows_of((config_.heads + 2 * config_.kv_heads) * config_.head_dim, type()),
            .attended = rows_of(config_.heads * config_.head_dim, type()),
            .gate_up = rows_of(2 * config_.intermediate, type()),
            .gated = rows_of(config_.intermediate, type())};
  }

  at::Tensor forward(device::operators& on, const device::step_rows& rows, const at::Tensor& last,
                     const at::Tensor& outputs, const cache::device_cache& memory,
                     const device_scratch& scratch) const override {
    auto space = scratch;
    on.embed(embedding_, rows, last, space.x);
    at::Tensor delta;
    for (std::size_t index = 0; index < layers_.size(); ++index) {
      const auto& layer = layers_[index];
      on.add_norm(space.x, delta, layer.before_attention, config_.rms_norm_eps, space.normed);
      attend(on, layer, rows, memory.layer(static_cast<int>(index)), space);
      if (index + 1 == layers_.size() && outputs.defined()) space = chosen(space, outputs);
      if (space.x.size(0) == 0) return space.normed;
      delta = space.delta;
      on.add_norm(space.x, delta, layer.before_mlp, config_.rms_norm_eps, space.normed);
      on.linear(space.normed, layer.gate_up, layer.gate_up_bias, space.gate_up);
      on.gate(space.gate_up, space.gated);
      on.linear(space.gated, layer.down, layer.down_bias, delta);
    }
    on.add_norm(space.x, delta, norm_, config_.rms_norm_eps, space.normed);
    return space.normed;
  }

  void score(device::operators& on, const at::Tensor& rows, const at::Tensor& logits) const override {
    on.scores(rows, head_, logits);
  }

 private:
  void read_layer(device_weights& weights, std::int64_t index) {
    const auto name = [&](const char* what) { return fmt::format("model.layers.{}.{}", index, what); };
    const auto q = config_.heads * config_.head_dim;
    const auto kv = config_.kv_heads * config_.head_dim;
    const auto matrix = [&](std::vector<layers::named_rows> parts, std::int64_t inputs) {
      for (auto& part : parts) part.name = name(part.name.c_str()) + ".weight";
      auto read = weights.matrix(parts, inputs);
      bytes_ += static_cast<std::int64_t>(read.nbytes());
      return read;
    };
    const auto bias = [&](bool has, std::vector<layers::named_rows> parts) {
      for (auto& part : parts) part.name = name(part.name.c_str()) + ".bias";
      return has ? weights.vector(parts) : at::Tensor();
    };
    const auto norm = [&](const char* what) {
      return weights.vector(std::array{layers::named_rows{name(what) + ".weight", config_.hidden}});
    };
    const std::vector<layers::named_rows> qkv{
        {"self_attn.q_proj", q}, {"self_attn.k_proj", kv}, {"self_attn.v_proj", kv}};
    const std::vector<layers::named_rows> output{{"self_attn.o_proj", config_.hidden}};
    const std::vector<layers::named_rows> gate_up{{"mlp.gate_proj", config_.intermediate},
                                                  {"mlp.up_proj", config_.intermediate}};
    const std::vector<layers::named_rows> down{{"mlp.down_proj", config_.hidden}};
    layers_.push_back({.before_attention = norm("input_layernorm"),
                       .qkv = matrix(qkv, config_.hidden),
                       .qkv_bias = bias(config_.attention_bias, qkv),
                       .output = matrix(output, q),
                       .output_bias = bias(config_.attention_bias, output),
                       .before_mlp = norm("post_attention_layernorm"),
                       .gate_up = matrix(gate_up, config_.hidden),
                       .gate_up_bias = bias(config_.mlp_bias, gate_up),
                       .down = matrix(down, config_.intermediate),
                       .down_bias = bias(config_.mlp_bias, down)});
  }

  /// delta = what the heads found, projected.
  void attend(device::operators& on, const device_layer& layer, const device::step_rows& rows,
              const cache::device_layer& memory, const device_scratch& space) const {
    on.linear(space.normed, layer.qkv, layer.qkv_bias, space.qkv);
    on.rotate_and_append(space.qkv, attention_, rope_, rows, memory);
    on.attend(space.qkv, attention_, rows, memory, space.attended);
    on.linear(space.attended, layer.output, layer.output_bias, space.delta);
  }

  /// What goes on of the last layer: the rows whose logits are wanted.
  static device_scratch chosen(const device_scratch& all, const at::Tensor& outputs) {
    auto rest = all.first(outputs.size(0));
    rest.x = at::index_select(all.x, 0, outputs);
    rest.delta = at::index_select(all.delta, 0, outputs);
    return rest;
  }

  const load::model_config config_;
  const std::vector<cache::layer_shape> shapes_;
  at::Tensor embedding_;
  std::vector<device_layer> layers_;
  at::Tensor norm_;
  at::Tensor head_;
  at::Tensor rope_;
  device::attention_shape attention_;
  std::int64_t bytes_ = 0;
};

}  // namespace

device_scratch device_scratch::first(std::int64_t tokens) const {
  return {.x = x.narrow(0, 0, tokens),
          .normed = normed.narrow(0, 0, tokens),
          .delta = delta.narrow(0, 0, tokens),
          .qkv = qkv.narrow(0, 0, tokens),
          .attended = attended.narrow(0, 0, tokens),
          .gate_up = gate_up.narrow(0, 0, tokens),
          .gated = gated.narrow(0, 0, tokens)};
}

std::unique_ptr<const device_network> make_device_llama(const load::model_config& config, device_weights& weights) {
  const std::vector shapes(static_cast<std::size_t>(config.layers), full_layer(config));
  return std::make_unique<const device_llama>(config, shapes, weights);
}

std::unique_ptr<const device_network> make_device_mistral(const load::model_config& config, device_weights& weights) {
  const auto shape = config.sliding_window ? sliding_layer(config) : full_layer(config);
  const std::vector shapes(static_cast<std::size_t>(config.layers), shape);
  return std::make_unique<const device_llama>(config, shapes, weights);
}

}  // namespace cogen::models
