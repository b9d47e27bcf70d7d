#include "models/gemma3.hpp"

#include "layers/activation.hpp"
#include "layers/attention.hpp"
#include "layers/gated_mlp.hpp"
#include "load/gemma3_fields.hpp"
#include "models/attention_shapes.hpp"
#include "models/decoder.hpp"

#include <cmath>

namespace cogen::models {

namespace {

using layers::activations;

constexpr float norm_offset = 1;

layers::attention_shape attention_of(const load::model_config& config, const load::gemma3_fields& own,
                                     std::shared_ptr<const layers::rope> rope) {
  return {.hidden = config.hidden,
          .heads = static_cast<int>(config.heads),
          .kv_heads = static_cast<int>(config.kv_heads),
          .head_dim = static_cast<int>(config.head_dim),
          .bias = config.attention_bias,
          .scale = 1 / std::sqrt(own.query_scalar),
          .norms = layers::head_norms{.epsilon = config.rms_norm_eps, .weight_offset = norm_offset},
          .rope = std::move(rope)};
}

/// Norms come before and after each half.
struct gemma3_layer {
  layers::rms_norm before_attention;
  layers::attention attention;
  layers::rms_norm after_attention;
  layers::rms_norm before_mlp;
  layers::gated_mlp mlp;
  layers::rms_norm after_mlp;

  gemma3_layer(const load::model_config& config, layers::attention_shape shape, layers::weight_reader& weights,
               const std::string& prefix)
      : before_attention(norm(config, weights, prefix + "input_layernorm.weight")),
        attention(weights, prefix + "self_attn.", std::move(shape)),
        after_attention(norm(config, weights, prefix + "post_attention_layernorm.weight")),
        before_mlp(norm(config, weights, prefix + "pre_feedforward_layernorm.weight")),
        mlp(weights, prefix + "mlp.", config.hidden, config.intermediate, false,
            layers::activation_named(config.activation)),
        after_mlp(norm(config, weights, prefix + "post_feedforward_layernorm.weight")) {}

  static layers::rms_norm norm(const load::model_config& config, layers::weight_reader& weights,
                               const std::string& name) {
    return {weights, name, config.hidden, config.rms_norm_eps, norm_offset};
  }

  void token_mixer(const layers::forward_context& context, int index, const activations& x,
                   const activations& branch) const {
    const auto rows = before_attention.rows(context, x, branch);
    attention(context, index, {branch, &rows}, branch);
    after_attention.add(context, branch, x);
  }

  void feed_forward(const layers::forward_context& context, const activations& x, const activations& branch) const {
    const auto rows = before_mlp.rows(context, x, branch);
    mlp(context, {branch, &rows}, branch);
    after_mlp.add(context, branch, x);
  }

  std::int64_t bytes() const {
    return before_attention.bytes() + attention.bytes() + after_attention.bytes() + before_mlp.bytes() + mlp.bytes() +
           after_mlp.bytes();
  }
};

std::vector<cache::kv_cache_spec> shapes_of(const load::model_config& config, const load::gemma3_fields& own) {
  std::vector<cache::kv_cache_spec> shapes;
  for (const bool slides : own.slides) shapes.push_back(slides ? sliding_layer(config) : full_layer(config));
  return shapes;
}

}  // namespace

std::unique_ptr<const network> make_gemma3(const load::config_fields& fields, const load::model_config& config,
                                           layers::weight_reader& weights) {
  const auto own = load::read_gemma3_fields(fields, config);
  const auto far = std::make_shared<const layers::rope>(config.rope, config.max_positions);
  const auto near = std::make_shared<const layers::rope>(own.local, config.max_positions);
  const auto make_layer = [&](std::int64_t index, const std::string& prefix) {
    const bool slides = own.slides.at(static_cast<std::size_t>(index));
    return gemma3_layer(config, attention_of(config, own, slides ? near : far), weights, prefix);
  };
  return std::make_unique<decoder<gemma3_layer>>(
      config, weights, shapes_of(config, own), make_layer,
      decoder_options{.embedding_scale = std::sqrt(static_cast<double>(config.hidden)),
                      .norm_offset = norm_offset,
                      .logit_cap = own.logit_cap});
}

}  // namespace cogen::models
