#include "models/device_llama.hpp"

#include "models/attention_shapes.hpp"
#include "models/device_rotation.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

namespace cogen::models {

namespace {

struct device_layer {
  device::rms_norm before_attention;
  device::projection qkv;
  device::projection output;
  device::rms_norm before_mlp;
  device::projection gate_up;
  device::projection down;
};

class device_llama final : public device_network {
 public:
  device_llama(const load::model_config& config, std::vector<cache::kv_cache_spec> shapes, device_weights& weights)
      : config_(config), shapes_(std::move(shapes)) {
    if (config.activation != "silu" && config.activation != "swish")
      throw std::invalid_argument(
          fmt::format("the activation \"{}\" is not known on devices; known is: silu", config.activation));
    embedding_ =
        weights.matrix(std::array{layers::named_rows{"model.embed_tokens.weight", config.vocabulary}}, config.hidden);
    for (std::int64_t index = 0; index < config.layers; ++index) read_layer(weights, index);
    norm_ = {weights.vector(std::array{layers::named_rows{"model.norm.weight", config.hidden}}), config.rms_norm_eps};
    head_ = config.tie_embeddings
                ? embedding_
                : weights.matrix(std::array{layers::named_rows{"lm_head.weight", config.vocabulary}}, config.hidden);
    rotation_ = make_rotation(config.rope, config.max_positions, device());
    attention_ = {.heads = config.heads,
                  .kv_heads = config.kv_heads,
                  .head_dim = config.head_dim,
                  .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config.head_dim)))};
  }

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return shapes_; }
  std::int64_t weight_bytes() const noexcept override { return bytes_ + static_cast<std::int64_t>(head_.nbytes()); }
  at::ScalarType type() const noexcept override { return embedding_.scalar_type(); }
  at::Device device() const noexcept override { return embedding_.device(); }

  device_scratch make_scratch(std::int64_t tokens, bool sinks) const override {
    const auto rows_of = [&](std::int64_t width, at::ScalarType type) {
      return at::empty({tokens, width}, at::TensorOptions(device()).dtype(type));
    };
    return {.x = rows_of(config_.hidden, at::kFloat),
            .qkv = rows_of((config_.heads + 2 * config_.kv_heads) * config_.head_dim, type()),
            .sink_q = sinks ? rows_of(config_.heads * config_.head_dim, type()) : at::Tensor(),
            .attended = rows_of(config_.heads * config_.head_dim, type()),
            .gated = rows_of(config_.intermediate, type())};
  }

  at::Tensor forward(device::operators& on, const device::step_rows& rows, const at::Tensor& last,
                     const at::Tensor& outputs, const device_memory& memory,
                     const device_scratch& scratch) const override {
    auto space = scratch;
    on.embed(embedding_, rows, last, space.x);
    for (std::size_t index = 0; index < layers_.size(); ++index) {
      const auto& layer = layers_[index];
      const auto number = static_cast<int>(index);
      const auto& kept = memory.cache.layer(number);
      on.norm_linear(space.x, layer.before_attention, layer.qkv, space.qkv);
      const device::qkv_rows numbers{space.qkv, space.sink_q};
      if (memory.prefetcher) memory.prefetcher->wait_layer(number);
      on.rotate_and_append(numbers, attention_, rotation_, rows, kept);
      if (memory.prefetcher) memory.prefetcher->store_layer(number);
      on.attend(numbers, attention_, rows, kept, space.attended);
      if (index + 1 == layers_.size() && outputs.defined()) space = chosen(space, outputs);
      if (space.x.size(0) == 0) break;
      on.linear_add(space.attended, layer.output, space.x);
      on.norm_gated(space.x, layer.before_mlp, layer.gate_up, space.gated);
      on.linear_add(space.gated, layer.down, space.x);
    }
    return space.x;
  }

  void score(device::operators& on, const at::Tensor& rows, const at::Tensor& logits) const override {
    on.norm_linear(rows, norm_, {.weights = head_, .bias = {}}, logits);
  }

 private:
  void read_layer(device_weights& weights, std::int64_t index) {
    const auto name = [&](const char* what) { return fmt::format("model.layers.{}.{}", index, what); };
    const auto q = config_.heads * config_.head_dim;
    const auto kv = config_.kv_heads * config_.head_dim;
    const auto projection = [&](const std::vector<layers::named_rows>& parts, std::int64_t inputs, bool biased) {
      const auto named = [&](const char* end) {
        auto all = parts;
        for (auto& part : all) part.name = name(part.name.c_str()) + end;
        return all;
      };
      auto read = weights.projection(named(".weight"), inputs);
      if (biased) read.bias = weights.vector(named(".bias"));
      bytes_ += static_cast<std::int64_t>(read.weights.nbytes());
      if (read.scales.defined()) bytes_ += static_cast<std::int64_t>(read.scales.nbytes());
      return read;
    };
    const auto norm = [&](const char* what) {
      return device::rms_norm{weights.vector(std::array{layers::named_rows{name(what) + ".weight", config_.hidden}}),
                              config_.rms_norm_eps};
    };
    const std::vector<layers::named_rows> qkv{
        {"self_attn.q_proj", q}, {"self_attn.k_proj", kv}, {"self_attn.v_proj", kv}};
    const std::vector<layers::named_rows> output{{"self_attn.o_proj", config_.hidden}};
    const std::vector<layers::named_rows> gate_up{{"mlp.gate_proj", config_.intermediate},
                                                  {"mlp.up_proj", config_.intermediate}};
    const std::vector<layers::named_rows> down{{"mlp.down_proj", config_.hidden}};
    layers_.push_back({.before_attention = norm("input_layernorm"),
                       .qkv = projection(qkv, config_.hidden, config_.attention_bias),
                       .output = projection(output, q, config_.attention_bias),
                       .before_mlp = norm("post_attention_layernorm"),
                       .gate_up = projection(gate_up, config_.hidden, config_.mlp_bias),
                       .down = projection(down, config_.intermediate, config_.mlp_bias)});
  }

  /// The rows of the last layer with wanted logits.
  static device_scratch chosen(const device_scratch& all, const at::Tensor& outputs) {
    auto rest = all.first(outputs.size(0));
    rest.x = at::index_select(all.x, 0, outputs);
    rest.attended = at::index_select(all.attended, 0, outputs);
    return rest;
  }

  const load::model_config config_;
  const std::vector<cache::kv_cache_spec> shapes_;
  at::Tensor embedding_;
  std::vector<device_layer> layers_;
  device::rms_norm norm_;
  at::Tensor head_;
  device::rotation rotation_;
  device::attention_shape attention_;
  std::int64_t bytes_ = 0;
};

}  // namespace

device_scratch device_scratch::first(std::int64_t tokens) const {
  return {.x = x.narrow(0, 0, tokens),
          .qkv = qkv.narrow(0, 0, tokens),
          .sink_q = sink_q.defined() ? sink_q.narrow(0, 0, tokens) : sink_q,
          .attended = attended.narrow(0, 0, tokens),
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
