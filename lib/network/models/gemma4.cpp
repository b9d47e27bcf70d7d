#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/rope_config.hpp"
#include "network/models/families.hpp"
#include "network/models/kv_sharing.hpp"
#include "network/models/layer_inputs.hpp"
#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::models {
namespace {

constexpr load::family_fields gemma4_fields(std::string_view name, std::string_view architecture) {
  return {.family = name,
          .sizes = {.vocabulary = 262144, .hidden = 2304, .layers = 30, .heads = 8, .intermediate = 9216},
          .tokens = {.bos = 2, .pad = 0, .eos = 1},
          .gguf = {.architecture = architecture},
          .keys = {.activation = "hidden_activation"},
          .kv_heads = 4,
          .head_dim = 256,
          .max_positions = 131072,
          .sliding_window = 512,
          .rope_parameters = R"({"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
              "rope_theta": 1000000}, "sliding_attention": {"rope_theta": 10000}})",
          .activation = "gelu_pytorch_tanh",
          .tie_embeddings = true};
}

/// What its layers of one type share.
struct layer_type {
  load::model_config shape;  // with this type's heads and rotation
  bool slides = false;
  bool keys_are_values = false;
};

class gemma4_layers {
 public:
  gemma4_layers(const load::config_fields& fields, const load::model_config& config)
      : fields_(fields),
        config_(config),
        slides_(sliding_layers(fields, config, [](std::int64_t layer) { return (layer + 1) % 6 != 0; })),
        own_(config.layers - fields.integer("num_kv_shared_layers", {0, config.layers - 1}, 0)),
        input_width_(fields.integer("hidden_size_per_layer_input", {0, load::hidden_widths.highest},
                                    fields.is_gguf() ? 0 : 256)) {
    refuse_other_kinds();
    slides_.back() = false;
    windowed_ = {.shape = windowed_shape(), .slides = true};
    full_ = {.shape = full_shape(), .keys_are_values = fields.boolean("attention_k_eq_v", false)};
    shared_ = shared_kv_layers(fields, slides_, own_);
  }

  std::int64_t input_width() const { return input_width_; }

  void add_to(model_spec& spec, std::int64_t layer) const {
    add_sandwich(spec, config_, layer, attends(layer), feed_forward(layer), {});
    if (has_experts()) add_experts(spec, layer);
    if (input_width_ > 0) spec.blocks.push_back(layer_input(config_, layer, input_width_));
    auto& last = has_experts() && input_width_ == 0 ? spec.blocks[spec.blocks.size() - 2] : spec.blocks.back();
    last.scalar = layer_prefix(layer) + "layer_scalar";
    if (layer >= own_) leave_kv_unread(spec, layer);
  }

 private:
  void refuse_other_kinds() const {
    if (fields_.is("use_bidirectional_attention", "all"))
      fields_.refuse("use_bidirectional_attention", "only causal models are read");
  }

  load::rope_config rotation(std::string_view type, const load::model_config& shape) const {
    const auto older = fmt::format("rope_scaling.{}", type), object = fmt::format("rope_parameters.{}", type);
    return load::read_rope_config(fields_, fields_.has(older) ? older : object, shape);
  }

  load::model_config windowed_shape() const {
    auto shape = config_;
    if (fields_.is_gguf()) {
      shape.head_dim = fields_.integer("attention.key_length_swa", load::head_dims);
      shape.kv_heads = kv_heads_where(true);
      shape.rope = {.theta = fields_.real("rope.freq_base_swa", load::rope_thetas, 10000),
                    .rotary_dim = fields_.integer("rope.dimension_count_swa", {2, shape.head_dim}, shape.head_dim)};
    } else {
      read_overrides(true, shape);
      shape.rope = rotation("sliding_attention", shape);
    }
    return checked(shape);
  }

  load::model_config full_shape() const {
    auto shape = config_;
    if (fields_.is_gguf()) {
      shape.kv_heads = kv_heads_where(false);
      return checked(shape);
    }
    if (fields_.has("per_layer_config")) {
      read_overrides(false, shape);
    } else {
      shape.head_dim = fields_.integer("global_head_dim", load::head_dims, 512);
      if (fields_.boolean("attention_k_eq_v", false))
        shape.kv_heads = fields_.integer("num_global_key_value_heads", load::head_counts, config_.kv_heads);
    }
    shape.rope = rotation("full_attention", shape);
    return checked(shape);
  }

  const load::model_config& checked(const load::model_config& shape) const {
    if (shape.heads % shape.kv_heads != 0)
      fields_.refuse("num_attention_heads", fmt::format("it must be a multiple of {} key/value heads", shape.kv_heads));
    return shape;
  }

  /// Published files have numbers for all layers of full attention, newer ones an object for each layer whose numbers
  /// are not the model's.
  void read_overrides(bool slides, load::model_config& shape) const {
    const auto layer = std::ranges::find(slides_, slides) - slides_.begin();
    shape.head_dim = of_layer(layer, "head_dim", load::head_dims, shape.head_dim);
    shape.kv_heads = of_layer(layer, "num_key_value_heads", load::head_counts, shape.kv_heads);
  }

  /// The object is called by the layer's number, which may be padded with zeros.
  std::int64_t of_layer(std::int64_t layer, std::string_view key, load::integer_range range,
                        std::int64_t fallback) const {
    constexpr int max_digits = 4;
    for (int digits = 1; digits <= max_digits; ++digits)
      if (const auto name = fmt::format("per_layer_config.{:0{}}.{}", layer, digits, key); fields_.has(name))
        return fields_.integer(name, range);
    return fallback;
  }

  /// GGUF files have a number for each layer, or one for all.
  std::int64_t kv_heads_where(bool slides) const {
    const auto counts = fields_.integers("num_kv_heads", load::head_counts);
    const auto layer = static_cast<std::size_t>(std::ranges::find(slides_, slides) - slides_.begin());
    return layer < counts.size() ? counts[layer] : counts.front();
  }

  const layer_type& type_of(std::int64_t layer) const {
    return slides_[static_cast<std::size_t>(layer)] ? windowed_ : full_;
  }

  attention_spec attends(std::int64_t layer) const {
    const auto& type = type_of(layer);
    auto self_attn = attention(type.shape);
    self_attn.scale = 1;
    self_attn.qk_norm = qk_norm_spec{.epsilon = config_.rms_norm_eps, .values = true};
    if (type.slides) self_attn.kv = sliding(type.shape, *config_.sliding_window);
    if (type.keys_are_values) self_attn.qkv.back() = self_attn.qkv[1];
    self_attn.shared_kv = shared_[static_cast<std::size_t>(layer)];
    return self_attn;
  }

  mlp_spec feed_forward(std::int64_t layer) const {
    auto mlp = gated_mlp(config_);
    if (fields_.is_gguf()) {
      const auto widths = fields_.integers("feed_forward_length", load::inner_widths);
      if (std::cmp_equal(widths.size(), config_.layers)) mlp.intermediate = widths[static_cast<std::size_t>(layer)];
    } else if (layer >= own_ && fields_.boolean("use_double_wide_mlp", false)) {
      mlp.intermediate *= 2;
    }
    return mlp;
  }

  bool has_experts() const { return fields_.boolean("enable_moe_block", false); }

  /// Beside the feed-forward, whose result and theirs are normed, added, and normed again.
  void add_experts(model_spec& spec, std::int64_t layer) const {
    const auto prefix = layer_prefix(layer);
    auto& dense = spec.blocks.back();
    dense.shared_norm = std::exchange(dense.after, rms_norm(config_, prefix + "post_feedforward_layernorm_1"));
    spec.blocks.push_back({.part = experts(prefix),
                           .prefix = prefix,
                           .pre_norm = rms_norm(config_, prefix + "pre_feedforward_layernorm_2"),
                           .after = rms_norm(config_, prefix + "post_feedforward_layernorm_2"),
                           .parallel = true});
  }

  moe_spec experts(const std::string& prefix) const {
    auto expert = gated_mlp(config_);
    expert.intermediate = fields_.integer("moe_intermediate_size", load::inner_widths);
    expert.gate = expert.up = "experts.gate_up_proj";
    expert.down = "experts.down_proj";
    moe_spec moe{.expert = std::move(expert), .experts = fields_.integer("num_experts", {1, 1 << 16}), .stacked = true};
    moe.top_k = fields_.integer("top_k_experts", {1, moe.experts});
    moe.router = {.name = "router.proj", .renormalized = true, .share_scales = "router.per_expert_scale"};
    moe.router.pre_norm = rms_norm(config_, prefix + "router.scale");
    moe.router.pre_norm->weight_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(config_.hidden)));
    return moe;
  }

  const load::config_fields& fields_;
  const load::model_config& config_;
  std::vector<bool> slides_;
  std::int64_t own_;  // layers with a cache of their own, the first ones
  std::int64_t input_width_;
  layer_type windowed_, full_;
  std::vector<std::optional<int>> shared_;
};

model_spec describe_gemma4_text(const load::config_fields& fields, const load::model_config& config) {
  const gemma4_layers layers(fields, config);
  auto spec = decoder(config);
  spec.embedding.scale = std::sqrt(static_cast<double>(config.hidden));
  if (fields.has("final_logit_softcapping"))
    spec.head.softcap = static_cast<float>(fields.real("final_logit_softcapping", load::softcaps));
  if (layers.input_width() > 0) spec.layer_inputs = layer_inputs(fields, config, layers.input_width());
  for (std::int64_t layer = 0; layer < config.layers; ++layer) layers.add_to(spec, layer);
  return spec;
}

}  // namespace

/// Gemma Team: Gemma 3 with norms whose weights do not count from 1, other heads in layers of full attention, layers
/// that share keys and values, inputs of layers, and experts beside the feed-forward.
const family gemma4_text{
    .title = "Gemma 4 (text)", .fields = gemma4_fields("gemma4_text", "gemma4"), .describe = describe_gemma4_text};

/// As checkpoints are published, with encoders of images and sounds, which are not read.
const family gemma4{.title = "Gemma 4",
                    .fields = gemma4_fields("gemma4", ""),
                    .describe = describe_beside_encoders<gemma4_text, gemma_encoders>};

}  // namespace cogen::models
