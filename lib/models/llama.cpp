#include "models/llama.hpp"

#include "layers/activation.hpp"
#include "layers/attention.hpp"
#include "layers/gated_mlp.hpp"
#include "models/attention_shapes.hpp"
#include "models/decoder.hpp"

namespace cogen::models {

namespace {

using layers::activations;

layers::attention_shape attention_of(const load::model_config& config, std::shared_ptr<const layers::rope> rope) {
  return {.hidden = config.hidden,
          .heads = static_cast<int>(config.heads),
          .kv_heads = static_cast<int>(config.kv_heads),
          .head_dim = static_cast<int>(config.head_dim),
          .bias = config.attention_bias,
          .rope = std::move(rope)};
}

struct llama_layer {
  layers::rms_norm before_attention;
  layers::attention attention;
  layers::rms_norm before_mlp;
  layers::gated_mlp mlp;

  llama_layer(const load::model_config& config, std::shared_ptr<const layers::rope> rope,
              layers::weight_reader& weights, const std::string& prefix)
      : before_attention(weights, prefix + "input_layernorm.weight", config.hidden, config.rms_norm_eps),
        attention(weights, prefix + "self_attn.", attention_of(config, std::move(rope))),
        before_mlp(weights, prefix + "post_attention_layernorm.weight", config.hidden, config.rms_norm_eps),
        mlp(weights, prefix + "mlp.", config.hidden, config.intermediate, config.mlp_bias,
            layers::activation_named(config.activation)) {}

  void token_mixer(const layers::forward_context& context, int index, const activations& x,
                   const activations& normed) const {
    const auto rows = before_attention.rows(context, x, normed);
    attention.add(context, index, {normed, &rows}, x);
  }

  void feed_forward(const layers::forward_context& context, const activations& x, const activations& normed) const {
    const auto rows = before_mlp.rows(context, x, normed);
    mlp.add(context, {normed, &rows}, x);
  }

  std::int64_t bytes() const { return before_attention.bytes() + attention.bytes() + before_mlp.bytes() + mlp.bytes(); }
};

}  // namespace

std::unique_ptr<const network> make_like_llama(const load::model_config& config, layers::weight_reader& weights,
                                               std::vector<cache::kv_cache_spec> shapes) {
  const auto rope = std::make_shared<const layers::rope>(config.rope, config.max_positions);
  const auto make_layer = [&](std::int64_t, const std::string& prefix) {
    return llama_layer(config, rope, weights, prefix);
  };
  return std::make_unique<decoder<llama_layer>>(config, weights, std::move(shapes), make_layer);
}

std::unique_ptr<const network> make_llama(const load::config_fields&, const load::model_config& config,
                                          layers::weight_reader& weights) {
  const auto layers = static_cast<std::size_t>(config.layers);
  return make_like_llama(config, weights, std::vector(layers, full_layer(config)));
}

}  // namespace cogen::models
