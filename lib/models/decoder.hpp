#pragma once

#include "layers/embedding.hpp"
#include "layers/norm.hpp"
#include "models/network.hpp"
#include "models/rows.hpp"

#include <cogen/load/model_config.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace cogen::models {

/// How decoders differ outside of their layers. Names are those of the checkpoint's tensors.
struct decoder_options {
  std::string embedding = "model.embed_tokens.weight";
  std::string layers = "model.layers.";
  std::string norm = "model.norm.weight";
  std::string head = "lm_head.weight";
  double embedding_scale = 1;
  float norm_offset = 0;  // rms_norm's weight_offset
  double logit_cap = 0;   // logits become cap * tanh(logits / cap); 0: they stay as they are
};

/// A decoder-only model: an embedding, layers that add to it, a last norm and a head. Immutable.
///
/// A Layer has
///     void token_mixer(const layers::forward_context&, int index, const activations& x, const activations& scratch)
///     const; void feed_forward(const layers::forward_context&, const activations& x, const activations& scratch)
///     const; std::int64_t bytes() const;
/// token_mixer() combines tokens (attention, a scan) and adds the result to x; feed_forward() processes each row by
/// itself. `scratch` has x's shape and no contents.
template <class Layer>
class decoder final : public network {
 public:
  /// make_layer(index, PREFIX) reads one layer; `shapes` says what each one caches.
  template <class MakeLayer>
  decoder(const load::model_config& config, layers::weight_reader& weights, std::vector<cache::kv_cache_spec> shapes,
          MakeLayer make_layer, const decoder_options& options = {})
      : hidden_(config.hidden),
        logit_cap_(static_cast<float>(options.logit_cap)),
        embedding_(weights, options.embedding, config.vocabulary, config.hidden, options.embedding_scale),
        layers_(read_layers(config, options, make_layer)),
        norm_(weights, options.norm, config.hidden, config.rms_norm_eps, options.norm_offset),
        head_(config.tie_embeddings ? layers::head(embedding_)
                                    : layers::head(weights, options.head, config.vocabulary, config.hidden)),
        shapes_(std::move(shapes)),
        weight_type_(load::to_string(weights.most_common_type())) {}

  void forward(const layers::forward_context& context, std::span<const token> tokens, std::span<const int> outputs,
               const layers::activations& logits) const override {
    const auto count = static_cast<std::int64_t>(tokens.size());
    auto x = context.space.take(count, hidden_);
    auto scratch = context.space.take(count, hidden_);

    embedding_(context, tokens, x);
    for (std::size_t index = 0; index < layers_.size(); ++index) {
      layers_[index].token_mixer(context, static_cast<int>(index), x, scratch);
      if (index + 1 == layers_.size()) {
        x = keep(outputs, x);
        scratch = scratch.first_rows(x.rows);
      }
      layers_[index].feed_forward(context, x, scratch);
    }
    norm_(context, x, scratch);
    head_(context, scratch, logits);
    if (logit_cap_ > 0) cap(context, logits, logit_cap_);
  }

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return shapes_; }

  std::int64_t weight_bytes() const noexcept override {
    std::int64_t bytes = norm_.bytes() + head_.bytes();
    for (const auto& layer : layers_) bytes += layer.bytes();
    return bytes;
  }

  std::string_view weight_type() const noexcept override { return weight_type_; }

 private:
  template <class MakeLayer>
  static std::vector<Layer> read_layers(const load::model_config& config, const decoder_options& options,
                                        MakeLayer make_layer) {
    std::vector<Layer> read;
    for (std::int64_t index = 0; index < config.layers; ++index) {
      read.push_back(make_layer(index, fmt::format("{}{}.", options.layers, index)));
    }
    return read;
  }

  std::int64_t hidden_;
  float logit_cap_;
  layers::embedding embedding_;
  std::vector<Layer> layers_;
  layers::rms_norm norm_;
  layers::head head_;
  std::vector<cache::kv_cache_spec> shapes_;
  std::string_view weight_type_;
};

}  // namespace cogen::models
