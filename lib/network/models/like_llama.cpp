#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

namespace cogen::models {

namespace {

using kernels::activation;

constexpr std::array<std::pair<std::string_view, activation>, 8> activations{
    {{"silu", activation::silu},
     {"swish", activation::silu},
     {"gelu", activation::gelu},
     {"gelu_new", activation::gelu_tanh},
     {"gelu_pytorch_tanh", activation::gelu_tanh},
     {"relu", activation::relu},
     {"relu2", activation::relu_squared},
     {"xielu", activation::xielu}}};

}  // namespace

std::string layer_prefix(std::int64_t layer) { return fmt::format("model.layers.{}.", layer); }

norm_spec rms_norm(const load::model_config& config, std::string name) {
  return {.name = std::move(name), .epsilon = config.rms_norm_eps};
}

norm_spec layer_norm(const load::model_config& config, std::string name, bool bias) {
  return {.name = std::move(name), .epsilon = config.rms_norm_eps, .type = norm_spec::kind::layer, .bias = bias};
}

cache::kv_cache_spec full(const load::model_config& config) {
  return {.kv_heads = static_cast<int>(config.kv_heads), .head_dim = static_cast<int>(config.head_dim)};
}

cache::kv_cache_spec sliding(const load::model_config& config, std::int64_t window) {
  auto kv = full(config);
  if (window >= config.max_positions) return kv;
  kv.kind = cache::layer_kind::sliding;
  kv.window = static_cast<int>(window);
  return kv;
}

cache::kv_cache_spec chunked(const load::model_config& config, std::int64_t chunk) {
  auto kv = sliding(config, chunk);
  if (kv.window > 0) kv.kind = cache::layer_kind::chunked;
  return kv;
}

attention_spec attention(const load::model_config& config) {
  return {.heads = static_cast<int>(config.heads),
          .kv_heads = static_cast<int>(config.kv_heads),
          .head_dim = static_cast<int>(config.head_dim),
          .scale = 1 / std::sqrt(static_cast<double>(config.head_dim)),
          .qkv_bias = config.attention_bias,
          .output_bias = config.attention_bias,
          .rope = rope_spec{config.rope},
          .kv = full(config)};
}

mlp_spec gated_mlp(const load::model_config& config) {
  return {
      .intermediate = config.intermediate, .activation = activation_named(config.activation), .bias = config.mlp_bias};
}

model_spec decoder(const load::model_config& config, std::optional<norm_spec> final_norm, const decoder_names& names) {
  model_spec spec{.base = names.base,
                  .embedding = {.names = {names.base + names.embedding}},
                  .final_norm = std::move(final_norm),
                  .head = {.names = {names.head}}};
  if (config.tie_embeddings) tie_head(spec);
  return spec;
}

model_spec decoder(const load::model_config& config) { return decoder(config, rms_norm(config, "model.norm")); }

mlp_spec plain_mlp(const load::model_config& config, std::string up, std::string down) {
  auto mlp = gated_mlp(config);
  mlp.gate.clear();
  mlp.up = std::move(up);
  mlp.down = std::move(down);
  return mlp;
}

void add_layer(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention) {
  add_layer(spec, config, layer, std::move(attention), gated_mlp(config));
}

void add_layer(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention,
               mlp_spec mlp) {
  add_sandwich(spec, config, layer, std::move(attention), std::move(mlp),
               {.after_attention = "", .before_mlp = "post_attention_layernorm", .after_mlp = ""});
}

void add_layer_normed(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention,
                      mlp_spec mlp, float weight_offset) {
  add_layer(spec, config, layer, std::move(attention), std::move(mlp));
  for (auto* block : {&*(spec.blocks.end() - 2), &spec.blocks.back()}) {
    block->pre_norm = layer_norm(config, block->pre_norm->name);
    block->pre_norm->weight_offset = weight_offset;
  }
}

void add_sandwich(model_spec& spec, const load::model_config& config, std::int64_t layer, attention_spec attention,
                  mlp_spec mlp, const sandwich_norms& names, float weight_offset) {
  const auto prefix = layer_prefix(layer);
  const auto norm = [&](std::string_view name) -> std::optional<norm_spec> {
    if (name.empty()) return std::nullopt;
    auto rms = rms_norm(config, prefix + std::string(name));
    rms.weight_offset = weight_offset;
    return rms;
  };
  spec.blocks.push_back({.part = std::move(attention),
                         .prefix = prefix + "self_attn.",
                         .pre_norm = norm(names.before_attention),
                         .after = norm(names.after_attention)});
  spec.blocks.push_back({.part = std::move(mlp),
                         .prefix = prefix + "mlp.",
                         .pre_norm = norm(names.before_mlp),
                         .after = norm(names.after_mlp)});
}

void add_layers(model_spec& spec, const load::model_config& config, const hybrid_layers& layers) {
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const auto named = [prefix = layer_prefix(layer)](std::string_view name) { return prefix + std::string(name); };
    const auto norm = [&](std::string_view name) {
      auto rms = rms_norm(config, named(name));
      rms.weight_offset = layers.weight_offset;
      return rms;
    };
    block_spec mixer{.part = layers.other, .prefix = named(layers.other_prefix), .pre_norm = norm(layers.before_mixer)};
    if (layers.attends[static_cast<std::size_t>(layer)]) {
      mixer.part = layers.attention;
      mixer.prefix = named("self_attn.");
    }
    spec.blocks.push_back(std::move(mixer));
    spec.blocks.push_back(
        {.part = layers.mlp, .prefix = named(layers.mlp_prefix), .pre_norm = norm(layers.before_mlp)});
  }
}

void add_parallel(model_spec& spec, std::int64_t layer, attention_spec attention, mlp_spec mlp,
                  const norm_spec& pre_norm) {
  const auto prefix = layer_prefix(layer);
  spec.blocks.push_back({.part = std::move(attention), .prefix = prefix + "self_attn.", .pre_norm = pre_norm});
  spec.blocks.push_back({.part = std::move(mlp), .prefix = prefix + "mlp.", .pre_norm = pre_norm, .parallel = true});
}

std::vector<bool> sliding_layers(const load::config_fields& fields, const load::model_config& config,
                                 const std::function<bool(std::int64_t)>& fallback) {
  std::vector<bool> slides;
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    if (config.layer_types.empty()) {
      slides.push_back(fallback(layer));
      continue;
    }
    const auto& type = config.layer_types[static_cast<std::size_t>(layer)];
    if (type != "sliding_attention" && type != "full_attention")
      fields.refuse("layer_types", "'sliding_attention' and 'full_attention' are known");
    slides.push_back(type == "sliding_attention");
  }
  if (!config.sliding_window && std::ranges::find(slides, true) != slides.end())
    fields.refuse("sliding_window", "layers of sliding_attention need one");
  return slides;
}

std::vector<bool> rotating_layers(const load::config_fields& fields, const load::model_config& config) {
  const auto listed = fields.integers("no_rope_layers", {0, 1});
  const auto interval = fields.integer("no_rope_layer_interval", {1}, 4);
  if (!listed.empty() && static_cast<std::int64_t>(listed.size()) != config.layers)
    fields.refuse("no_rope_layers", "it must have a 0 or 1 for each layer");
  std::vector<bool> rotates;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    rotates.push_back(listed.empty() ? (layer + 1) % interval != 0 : listed[static_cast<std::size_t>(layer)] != 0);
  return rotates;
}

void put_under(const std::string& base, model_spec& spec) {
  const auto move = [&](std::string& name) {
    if (name.starts_with(spec.base)) name.replace(0, spec.base.size(), base);
  };
  const auto move_norm = [&](std::optional<norm_spec>& norm) {
    if (norm) move(norm->name);
  };
  for (auto* names : {&spec.embedding.names, &spec.head.names}) std::ranges::for_each(*names, move);
  for (auto& block : spec.blocks) {
    move(block.prefix);
    for (auto* norm : {&block.pre_norm, &block.after, &block.post, &block.shared_norm}) move_norm(*norm);
    if (auto* moe = std::get_if<moe_spec>(&block.part)) move_norm(moe->router.pre_norm);
    if (auto* low = std::get_if<low_rank_spec>(&block.part)) move(low->norm.name);
    if (auto* step = std::get_if<stream_step_spec>(&block.part)) move(step->norm.name);
    move(block.scalar);
  }
  if (auto& inputs = spec.layer_inputs)
    for (auto* name : {&inputs->table, &inputs->projection, &inputs->norm.name}) move(*name);
  if (auto& streams = spec.streams)
    for (auto* name : {&streams->in, &streams->out}) move(*name);
  for (auto& name : spec.unread) move(name);
  move_norm(spec.final_norm);
  spec.base = base;
}

std::vector<bool> layers_of_type(const load::config_fields& fields, const load::model_config& config,
                                 std::string_view this_one, std::string_view other) {
  std::vector<bool> found;
  for (const auto& type : config.layer_types) {
    if (type != this_one && type != other)
      fields.refuse("layer_types", fmt::format("'{}' and '{}' are known", this_one, other));
    found.push_back(type == this_one);
  }
  return found;
}

std::optional<query_growth_spec> query_growth(const load::config_fields& fields, const load::model_config& config) {
  const std::string object = fields.has("rope_parameters") ? "rope_parameters." : "rope_scaling.";
  const auto beta = fields.real(object + "llama_4_scaling_beta", {0, 1e6}, 0);
  if (beta == 0) return std::nullopt;
  const auto given = config.rope.original_positions;
  return query_growth_spec{.beta = beta, .length = given > 0 ? given : config.max_positions};
}

alibi_spec alibi(int heads) {
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  alibi_spec spec;
  const auto slope = [](double step, int count) { return static_cast<float>(std::exp2(-8.0 * step / count)); };
  for (int head = 0; head < power; ++head) spec.slopes.push_back(slope(head + 1, power));
  for (int head = 0; head < heads - power; ++head) spec.slopes.push_back(slope(2 * head + 1, 2 * power));
  return spec;
}

activation activation_named(std::string_view name) {
  for (const auto& [known, kind] : activations)
    if (known == name) return kind;
  throw std::invalid_argument(fmt::format("the activation \"{}\" is not known", name));
}

model_spec beside_encoders(model_spec spec, const std::string& base, std::span<const std::string_view> encoders) {
  put_under(base, spec);
  for (const auto name : encoders) spec.unread.emplace_back(name);
  return spec;
}

}  // namespace cogen::models
