#include "network/models/like_bart.hpp"

#include "network/models/bart_fields.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cogen::models {

namespace {

norm_spec norm(const load::model_config& config, std::string name) {
  return {.name = std::move(name), .epsilon = config.rms_norm_eps, .type = norm_spec::kind::layer, .bias = true};
}

attention_spec attention_of(std::int64_t hidden, std::int64_t heads, cache::layer_kind kind) {
  const auto count = static_cast<int>(heads), width = static_cast<int>(hidden / heads);
  return {.heads = count,
          .kv_heads = count,
          .head_dim = width,
          .scale = 1 / std::sqrt(static_cast<double>(width)),
          .output = "out_proj",
          .qkv_bias = true,
          .output_bias = true,
          .kv = {.kind = kind, .kv_heads = count, .head_dim = width}};
}

mlp_spec mlp_of(const load::model_config& config, std::int64_t intermediate) {
  return {.intermediate = intermediate,
          .activation = activation_named(config.activation),
          .gate = "",
          .up = "fc1",
          .down = "fc2",
          .bias = true};
}

/// Adds the blocks of one half of the model: an encoder's, or a decoder's.
class half_maker {
 public:
  half_maker(const load::model_config& config, const bart_differences& differs, std::string name, double scale)
      : config_(config), differs_(differs), name_(std::move(name)), scale_(scale) {}

  embedding_spec embedding() const {
    embedding_spec embedding{.names = {name_ + "embed_tokens", "model.shared"},
                             .scale = scale_,
                             .positions = position_table_spec{.name = name_ + "embed_positions",
                                                              .offset = differs_.first_position,
                                                              .sinusoid_steps = differs_.sinusoid_steps}};
    if (differs_.embedding_norm) embedding.norm = norm(config_, name_ + "layernorm_embedding");
    return embedding;
  }

  std::optional<norm_spec> last_norm() const {
    return differs_.norms_before ? std::optional(norm(config_, name_ + "layer_norm")) : std::nullopt;
  }

  void add_attention(std::vector<block_spec>& blocks, std::int64_t layer, const std::string& name,
                     attention_spec attends) const {
    const auto own = prefix(layer) + name;
    blocks.push_back(with_norm({.part = std::move(attends), .prefix = own + "."}, own + "_layer_norm"));
  }

  void add_mlp(std::vector<block_spec>& blocks, std::int64_t layer, std::int64_t intermediate) const {
    blocks.push_back(with_norm({.part = mlp_of(config_, intermediate), .prefix = prefix(layer)},
                               prefix(layer) + "final_layer_norm"));
  }

 private:
  std::string prefix(std::int64_t layer) const { return fmt::format("{}layers.{}.", name_, layer); }

  block_spec with_norm(block_spec block, std::string name) const {
    (differs_.norms_before ? block.pre_norm : block.post) = norm(config_, std::move(name));
    return block;
  }

  const load::model_config& config_;
  const bart_differences& differs_;
  const std::string name_;
  const double scale_;
};

/// Each table has a name of its own, behind which the others stand in for it.
void tie_tables(model_spec& spec) {
  for (auto* names : {&spec.head.names, &spec.embedding.names, &spec.encoder->embedding.names})
    for (const auto* name : {"model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"})
      if (std::ranges::find(*names, name) == names->end()) names->emplace_back(name);
}

}  // namespace

model_spec like_bart(const load::config_fields& fields, const load::model_config& config,
                     const bart_differences& differs) {
  const auto own = read_bart_fields(fields, config, differs.scaled_embedding);
  const auto scale = own.scale_embedding ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
  const half_maker encoder(config, differs, "model.encoder.", scale), decoder(config, differs, "model.decoder.", scale);
  model_spec spec{.embedding = decoder.embedding(),
                  .final_norm = decoder.last_norm(),
                  .head = {.names = {"lm_head", "model.shared"}},
                  .encoder = encoder_spec{.embedding = encoder.embedding(), .final_norm = encoder.last_norm()},
                  .unread = {"model.encoder.version", "model.decoder.version", "model.encoder.embed_positions.weights",
                             "model.decoder.embed_positions.weights"}};
  if (differs.logits_bias) {
    spec.head.bias = "final_logits_bias";
    spec.head.bias_is_row = true;
  }
  if (config.tie_embeddings) tie_tables(spec);
  const auto attention = [&](std::int64_t heads, cache::layer_kind kind) {
    return attention_of(config.hidden, heads, kind);
  };
  for (std::int64_t layer = 0; layer < own.encoder_layers; ++layer) {
    auto& blocks = spec.encoder->blocks;
    encoder.add_attention(blocks, layer, "self_attn", attention(own.encoder_heads, cache::layer_kind::cross));
    encoder.add_mlp(blocks, layer, own.encoder_intermediate);
  }
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    decoder.add_attention(spec.blocks, layer, "self_attn", attention(config.heads, cache::layer_kind::full));
    decoder.add_attention(spec.blocks, layer, "encoder_attn", attention(config.heads, cache::layer_kind::cross));
    decoder.add_mlp(spec.blocks, layer, config.intermediate);
  }
  return spec;
}

}  // namespace cogen::models
