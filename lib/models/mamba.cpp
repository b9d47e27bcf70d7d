#include "models/mamba.hpp"

#include "layers/mamba_mixer.hpp"
#include "load/mamba_fields.hpp"
#include "models/decoder.hpp"
#include "models/mamba_shape.hpp"

namespace cogen::models {

namespace {

using layers::activations;

struct mamba_layer {
  layers::rms_norm norm;
  layers::mamba_mixer mixer;

  mamba_layer(const load::model_config& config, const layers::mamba_shape& shape, layers::weight_reader& weights,
              const std::string& prefix)
      : norm(weights, prefix + "norm.weight", config.hidden, config.rms_norm_eps),
        mixer(weights, prefix + "mixer.", shape) {}

  void token_mixer(const layers::forward_context& context, int index, const activations& x,
                   const activations& normed) const {
    norm(context, x, normed);
    mixer.add(context, index, normed, x);
  }

  void feed_forward(const layers::forward_context&, const activations&, const activations&) const {
  }  // the mixer is all there is

  std::int64_t bytes() const { return norm.bytes() + mixer.bytes(); }
};

}  // namespace

std::unique_ptr<const network> make_mamba(const load::config_fields& fields, const load::model_config& config,
                                          layers::weight_reader& weights) {
  if (config.activation != "silu") fields.refuse("hidden_act", "a Mamba's is silu");
  const auto shape = mamba_shape_of(load::read_mamba_fields(fields, config), config);
  const cache::kv_cache_spec state{.kind = cache::layer_kind::recurrent, .state = shape.state()};
  const auto make_layer = [&](std::int64_t, const std::string& prefix) {
    return mamba_layer(config, shape, weights, prefix);
  };
  return std::make_unique<decoder<mamba_layer>>(
      config, weights, std::vector(static_cast<std::size_t>(config.layers), state), make_layer,
      decoder_options{
          .embedding = "backbone.embeddings.weight", .layers = "backbone.layers.", .norm = "backbone.norm_f.weight"});
}

}  // namespace cogen::models
