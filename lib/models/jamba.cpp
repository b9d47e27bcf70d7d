#include "models/jamba.hpp"

#include "layers/attention.hpp"
#include "layers/gated_mlp.hpp"
#include "layers/mamba_mixer.hpp"
#include "layers/mixture_of_experts.hpp"
#include "load/mamba_fields.hpp"
#include "models/decoder.hpp"
#include "models/mamba_shape.hpp"

#include <variant>
#include <vector>

namespace cogen::models {

namespace {

using layers::activations;
using mixer = std::variant<layers::attention, layers::mamba_mixer>;
using feed_forward = std::variant<layers::gated_mlp, layers::mixture_of_experts>;

/// Both sources of a Jamba's shape.
struct jamba_shape {
  const load::model_config& config;
  const load::jamba_fields fields;

  bool attends(std::int64_t layer) const { return layer % fields.attention_period == fields.attention_offset; }

  bool has_experts(std::int64_t layer) const {
    return fields.experts > 1 && layer % fields.expert_period == fields.expert_offset;
  }

  layers::attention_shape attention() const {
    return {.hidden = config.hidden,
            .heads = static_cast<int>(config.heads),
            .kv_heads = static_cast<int>(config.kv_heads),
            .head_dim = static_cast<int>(config.head_dim)};
  }

  layers::mamba_shape mamba() const {
    auto shape = mamba_shape_of(fields.mamba, config);
    shape.norm_epsilon = config.rms_norm_eps;
    return shape;
  }

  layers::mixture_shape mixture() const {
    return {.hidden = config.hidden,
            .intermediate = config.intermediate,
            .experts = fields.experts,
            .chosen = fields.experts_per_token};
  }

  std::vector<cache::kv_cache_spec> remembered() const {
    const cache::kv_cache_spec full{.kv_heads = static_cast<int>(config.kv_heads),
                                    .head_dim = static_cast<int>(config.head_dim)};
    const cache::kv_cache_spec state{.kind = cache::layer_kind::recurrent, .state = mamba().state()};
    std::vector<cache::kv_cache_spec> shapes;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) shapes.push_back(attends(layer) ? full : state);
    return shapes;
  }
};

mixer read_mixer(const jamba_shape& shape, std::int64_t layer, layers::weight_reader& weights,
                 const std::string& prefix) {
  if (shape.attends(layer)) return layers::attention(weights, prefix + "self_attn.", shape.attention());
  return layers::mamba_mixer(weights, prefix + "mamba.", shape.mamba());
}

feed_forward read_feed_forward(const jamba_shape& shape, std::int64_t layer, layers::weight_reader& weights,
                               const std::string& prefix) {
  if (shape.has_experts(layer)) return layers::mixture_of_experts(weights, prefix, shape.mixture());
  return layers::gated_mlp(weights, prefix, shape.config.hidden, shape.config.intermediate, false);
}

struct jamba_layer {
  layers::rms_norm before_mixer;
  mixer mix_with;
  layers::rms_norm before_feed_forward;
  feed_forward feed_to;

  jamba_layer(const jamba_shape& shape, std::int64_t layer, layers::weight_reader& weights, const std::string& prefix)
      : before_mixer(weights, prefix + "input_layernorm.weight", shape.config.hidden, shape.config.rms_norm_eps),
        mix_with(read_mixer(shape, layer, weights, prefix)),
        before_feed_forward(weights, prefix + "pre_ff_layernorm.weight", shape.config.hidden,
                            shape.config.rms_norm_eps),
        feed_to(read_feed_forward(shape, layer, weights, prefix + "feed_forward.")) {}

  void token_mixer(const layers::forward_context& context, int index, const activations& x,
                   const activations& normed) const {
    before_mixer(context, x, normed);
    std::visit([&](const auto& mixer) { mixer.add(context, index, normed, x); }, mix_with);
  }

  void feed_forward(const layers::forward_context& context, const activations& x, const activations& normed) const {
    before_feed_forward(context, x, normed);
    std::visit([&](const auto& forward) { forward.add(context, normed, x); }, feed_to);
  }

  std::int64_t bytes() const {
    const auto bytes_of = [](const auto& part) { return part.bytes(); };
    return before_mixer.bytes() + std::visit(bytes_of, mix_with) + before_feed_forward.bytes() +
           std::visit(bytes_of, feed_to);
  }
};

}  // namespace

std::unique_ptr<const network> make_jamba(const load::config_fields& fields, const load::model_config& config,
                                          layers::weight_reader& weights) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Jamba's is silu");
  const jamba_shape shape{config, load::read_jamba_fields(fields, config)};
  const auto make_layer = [&](std::int64_t layer, const std::string& prefix) {
    return jamba_layer(shape, layer, weights, prefix);
  };
  return std::make_unique<decoder<jamba_layer>>(config, weights, shape.remembered(), make_layer,
                                                decoder_options{.norm = "model.final_layernorm.weight"});
}

}  // namespace cogen::models
