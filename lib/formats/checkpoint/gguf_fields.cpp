#include "formats/checkpoint/gguf_fields.hpp"

#include "formats/checkpoint/family_fields.hpp"
#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/message.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace cogen::load {
namespace {

template <class T>
field_scalar scalar_of(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else {
    if (std::in_range<std::int64_t>(value)) return static_cast<std::int64_t>(value);
    return static_cast<double>(value);
  }
}

struct value_text {
  template <class T>
  std::string operator()(const T& value) const {
    return fmt::format("{}", value);
  }

  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    return fmt::format("an array of {}", list.size());
  }

  std::string operator()(const json::string_list& list) const { return fmt::format("an array of {}", list.size()); }
  std::string operator()(const std::string& text) const { return in_quotes(text); }
};

struct field_maker {
  template <class T>
  field operator()(const T& value) const {
    return {field::shape::scalar, {scalar_of(value)}};
  }

  template <class T>
  field operator()(const std::vector<T>& list) const {
    field result{field::shape::list, {}};
    result.values.reserve(list.size());
    for (const auto& value : list) result.values.push_back(scalar_of<T>(value));
    return result;
  }

  field operator()(const json::string_list& list) const { return (*this)(list.strings()); }
};

// Keys that model families ask for by Transformers' names.
struct key_alias {
  std::string_view asked;
  std::string_view stored;
};

constexpr std::array aliases{
    key_alias{"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"},
    key_alias{"attention_multiplier", "attention.scale"},
    key_alias{"embedding_multiplier", "embedding_scale"},
    key_alias{"residual_multiplier", "residual_scale"},
    key_alias{"logits_scaling", "logit_scale"},
    key_alias{"attn_config.clip_qkv", "attention.clamp_kqv"},
    key_alias{"num_kv_heads", "attention.head_count_kv"},
    key_alias{"rope_local_base_freq", "rope.freq_base_swa"},
    key_alias{"local_rope_theta", "rope.freq_base_swa"},
    key_alias{"global_rope_theta", "rope.freq_base"},
    key_alias{"rope_parameters.sliding_attention", "rope.freq_base_swa"},
    key_alias{"rope_parameters.sliding_attention.rope_theta", "rope.freq_base_swa"},
    key_alias{"state_size", "ssm.state_size"},
    key_alias{"conv_kernel", "ssm.conv_kernel"},
    key_alias{"time_step_rank", "ssm.time_step_rank"},
    key_alias{"mamba_d_state", "ssm.state_size"},
    key_alias{"mamba_d_conv", "ssm.conv_kernel"},
    key_alias{"mamba_dt_rank", "ssm.time_step_rank"},
    key_alias{"num_heads", "ssm.time_step_rank"},
    key_alias{"n_groups", "ssm.group_count"},
    key_alias{"mamba_d_ssm", "ssm.inner_size"},
    key_alias{"mamba_n_heads", "ssm.time_step_rank"},
    key_alias{"mamba_n_groups", "ssm.group_count"},
    key_alias{"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
    key_alias{"altup_active_idx", "altup.active_idx"},
    key_alias{"altup_num_inputs", "altup.num_inputs"},
    key_alias{"num_kv_shared_layers", "attention.shared_kv_layers"},
    key_alias{"top_k_experts", "expert_used_count"},
    key_alias{"num_local_experts", "expert_count"},
    key_alias{"conv_L_cache", "shortconv.l_cache"},
    key_alias{"linear_conv_kernel_dim", "ssm.conv_kernel"},
    key_alias{"linear_key_head_dim", "ssm.state_size"},
    key_alias{"linear_num_key_heads", "ssm.group_count"},
    key_alias{"linear_num_value_heads", "ssm.time_step_rank"},
    key_alias{"num_experts", "expert_count"},
    key_alias{"n_routed_experts", "expert_count"},
    key_alias{"num_experts_per_tok", "expert_used_count"},
    key_alias{"moe_intermediate_size", "expert_feed_forward_length"},
    key_alias{"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    key_alias{"n_shared_experts", "expert_shared_count"},
    key_alias{"first_k_dense_replace", "leading_dense_block_count"},
    key_alias{"num_dense_layers", "leading_dense_block_count"},
    key_alias{"ssm_state_size", "ssm.state_size"},
    key_alias{"mamba_num_heads", "ssm.time_step_rank"},
    key_alias{"intermediate_size", "feed_forward_length"},
    key_alias{"intermediate_size_mlp", "feed_forward_length"},
    key_alias{"num_layers", "block_count"},
    key_alias{"relative_attention_num_buckets", "attention.relative_buckets_count"},
    key_alias{"moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    key_alias{"n_group", "expert_group_count"},
    key_alias{"topk_group", "expert_group_used_count"},
    key_alias{"norm_topk_prob", "expert_weights_norm"},
    key_alias{"routed_scaling_factor", "expert_weights_scale"},
    key_alias{"kv_lora_rank", "attention.kv_lora_rank"},
    key_alias{"q_lora_rank", "attention.q_lora_rank"},
    key_alias{"qk_rope_head_dim", "rope.dimension_count"},
    key_alias{"qk_head_dim", "attention.key_length_mla"},
    key_alias{"v_head_dim", "attention.value_length_mla"},
    key_alias{"rope_scaling.llama_4_scaling_beta", "attention.temperature_scale"},
};

// What Transformers has in its configuration and a GGUF file shows by the tensors of its first layer.
struct shown_field {
  std::string_view asked;
  std::array<std::string_view, 2> tensors;  // any of them
};

constexpr std::array shown_fields{
    shown_field{"attention_bias", {"attn_q.bias", "attn_qkv.bias"}},
    shown_field{"attention_out_bias", {"attn_output.bias"}},
    shown_field{"mlp_bias", {"ffn_up.bias", "ffn_down.bias"}},
    shown_field{"mlp_gate", {"ffn_gate.weight"}},
    shown_field{"fused_qkv", {"attn_qkv.weight"}},
    shown_field{"expert_bias", {"ffn_up_exps.bias"}},
    shown_field{"stacked_kv_up", {"attn_k_b.weight"}},
    shown_field{"latent_bias", {"attn_kv_a_mqa.bias"}},
    shown_field{"fused_experts", {"ffn_gate_up_exps.weight"}},
    shown_field{"altup_correct_scale", {"altup_correct_scale.weight"}},
    shown_field{"enable_moe_block", {"ffn_gate_inp.weight"}},
    shown_field{"use_qk_norm", {"attn_q_norm.weight"}},
    shown_field{"qk_layernorm", {"attn_q_norm.weight"}},
};

struct mixer_type {
  std::string_view tensor, type;
};

constexpr std::array mixer_tensors{
    mixer_type{"shortconv.conv.weight", "conv"},
    mixer_type{"ssm_beta.weight", "linear_attention"},
    mixer_type{"ssm_norm.weight", "linear_attention"},
};

constexpr std::array blocks{
    mixer_type{"ssm_in.weight", "linear_attention"},
    mixer_type{"attn_q.weight", "full_attention"},
    mixer_type{"ffn_gate_inp.weight", "moe"},
};

field scalar_field(field_scalar value) { return {field::shape::scalar, {std::move(value)}}; }

class gguf_lookup final : public config_fields::lookup {
 public:
  explicit gguf_lookup(const gguf_file& file) : lookup(file.path().string()), file_(file) {}

  config_fields::source origin() const noexcept override { return config_fields::source::gguf; }

  std::string family() const override { return std::string(family_of_architecture(architecture())); }

  std::optional<field> find(std::string_view key) const override {
    if (key == "use_parallel_residual" && family() == "stablelm")
      return scalar_field(!first_layer_has("ffn_norm.weight"));
    const auto* value = file_.metadata(spelled(key));
    if (value != nullptr) return std::visit(field_maker(), *value);
    if (key == "fused_qkv" && first_layer_has("ssm_a")) return scalar_field(false);
    for (const auto& [asked, tensors] : shown_fields)
      if (asked == key)
        return scalar_field(std::ranges::any_of(tensors, [&](auto name) { return first_layer_has(name); }));
    return implied(key);
  }

  std::string spelled(std::string_view key) const override {
    if (is_there(own(key))) return own(key);
    if (is_there(key)) return std::string(key);
    const auto* alias = std::ranges::find(aliases, key, &key_alias::asked);
    const bool has_alias = alias != aliases.end() && is_there(own(alias->stored));
    return own(has_alias ? alias->stored : key);
  }

  std::string shown(std::string_view key) const override {
    const auto* value = file_.metadata(spelled(key));
    return value == nullptr ? "missing" : std::visit(value_text(), *value);
  }

 private:
  std::string architecture() const {
    const auto* value = file_.metadata("general.architecture");
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    if (text == nullptr) refuse(name, "has no string 'general.architecture'");
    return *text;
  }

  std::string own(std::string_view key) const { return architecture() + "." + std::string(key); }

  bool is_there(std::string_view key) const { return file_.metadata(key) != nullptr; }

  bool first_layer_has(std::string_view tensor) const {
    return !tensor.empty() && file_.find("blk.0." + std::string(tensor)) != nullptr;
  }

  std::optional<std::int64_t> integer(std::string_view key) const {
    const auto* value = file_.metadata(own(key));
    return value == nullptr ? std::nullopt : as_integer(*value);
  }

  // What follows from other keys and from the tensors.
  std::optional<field> implied(std::string_view key) const {
    if (key == "layer_types") return layer_types();
    if (key == "layers_block_type") return block_types();
    if (key == "rope.scaling.type" && file_.find("rope_factors_long.weight"))
      return scalar_field(std::string("longrope"));
    if (key == "query_pre_attn_scalar") return query_scalar();
    if (key == "feed_forward_proj")
      return scalar_field(std::string(file_.find("dec.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu"));
    if (key == "expert_gating_func") return scalar_field(std::int64_t{any_layer_has("exp_probs_b.bias") ? 2 : 1});
    if (key == "qk_head_dim") return find("attention.key_length");
    if (key == "v_head_dim") return find("attention.value_length");
    if (key == "expand" || key == "mamba_expand") return expansion();
    if (key == "use_bias" || key == "mamba_proj_bias") return scalar_field(any_layer_has("ssm_in.bias"));
    if (key == "use_conv_bias" || key == "mamba_conv_bias") return scalar_field(any_layer_has("ssm_conv1d.bias"));
    if (key == "shared_intermediate_size") return feed_forward_width();
    if (key == "linear_value_head_dim" || key == "head_dim" || key == "mamba_d_head" || key == "mamba_head_dim")
      return value_head_dim();
    if (key == "mamba_rms_norm") return scalar_field(any_layer_has("ssm_norm.weight"));
    if (key == "laurel_rank") return rows_of("blk.0.laurel_l.weight");
    if (key == "type_vocab_size") return rows_of("token_types.weight");
    if (key == "use_bidirectional_attention") return scalar_field(architecture() == "gemma-embedding");
    if (key == "attention_k_eq_v") return scalar_field(any_layer_has("attn_k.weight", "attn_v.weight"));
    if (key == "attn_layer_period") return scalar_field(layers_with("attn_q.weight").period);
    if (key == "attn_layer_offset") return scalar_field(layers_with("attn_q.weight").offset);
    if (key == "expert_layer_period") return scalar_field(layers_with("ffn_gate_inp.weight").period);
    if (key == "expert_layer_offset") return scalar_field(layers_with("ffn_gate_inp.weight").offset);
    if (key == "mlp_only_layers") return layers_without("ffn_gate_inp.weight");
    if (key == "new_decoder_architecture") return scalar_field(integer("attention.head_count_kv").value_or(1) > 1);
    if (key == "num_ln_in_parallel_attn")
      return scalar_field(std::int64_t{first_layer_has("attn_norm_2.weight") ? 2 : 1});
    return std::nullopt;
  }

  std::optional<field> rows_of(std::string_view tensor) const {
    const auto* const found = file_.find(tensor);
    return found && !found->shape.empty() ? std::optional(scalar_field(found->shape.front())) : std::nullopt;
  }

  // What each layer is in a model whose layers have one part each.
  field block_types() const {
    field types{field::shape::list, {}};
    for (std::int64_t layer = 0; layer < layers(); ++layer) {
      const auto* const found =
          std::ranges::find_if(blocks, [&](const mixer_type& mixer) { return layer_has(layer, mixer.tensor); });
      types.values.emplace_back(std::string(found == blocks.end() ? "mlp" : found->type));
    }
    return types;
  }

  std::int64_t layers() const {
    const auto predicting = integer("nextn_predict_layers").value_or(0);
    return std::clamp<std::int64_t>(integer("block_count").value_or(0) - predicting, 0, layer_counts.highest);
  }

  bool layer_has(std::int64_t layer, std::string_view tensor) const {
    return file_.find(fmt::format("blk.{}.{}", layer, tensor)) != nullptr;
  }

  // ... without the other one.
  bool any_layer_has(std::string_view tensor, std::string_view other = {}) const {
    for (std::int64_t layer = 0; layer < layers(); ++layer)
      if (layer_has(layer, tensor) && (other.empty() || !layer_has(layer, other))) return true;
    return false;
  }

  struct repetition {
    std::int64_t period, offset;
  };

  // The layers with that tensor follow one another at one distance.
  repetition layers_with(std::string_view tensor) const {
    std::vector<std::int64_t> found;
    for (std::int64_t layer = 0; layer < layers() && found.size() < 2; ++layer)
      if (layer_has(layer, tensor)) found.push_back(layer);
    if (found.empty()) return {layers() + 1, layers()};
    return {found.size() == 2 ? found[1] - found[0] : layers() + 1, found[0]};
  }

  field layers_without(std::string_view tensor) const {
    field found{field::shape::list, {}};
    for (std::int64_t layer = 0; layer < layers(); ++layer)
      if (!layer_has(layer, tensor)) found.values.emplace_back(layer);
    return found;
  }

  std::optional<field> expansion() const {
    const auto inner = integer("ssm.inner_size"), hidden = integer("embedding_length");
    if (!inner || !hidden || *hidden < 1 || *inner % *hidden != 0) return std::nullopt;
    return scalar_field(*inner / *hidden);
  }

  // Of a feed-forward that all tokens go through.
  std::optional<field> feed_forward_width() const {
    const auto shared = integer("expert_shared_feed_forward_length");
    return find(shared.value_or(0) > 0 ? "expert_shared_feed_forward_length" : "feed_forward_length");
  }

  std::optional<field> value_head_dim() const {
    const auto inner = integer("ssm.inner_size"), heads = integer("ssm.time_step_rank");
    if (!inner || !heads || *heads < 1 || *inner % *heads != 0) return std::nullopt;
    return scalar_field(*inner / *heads);
  }

  // What each layer is called in a model of attention and another mixer, by the tensors that it has.
  std::optional<field> mixer_types() const {
    for (const auto& [tensor, type] : mixer_tensors) {
      if (!any_layer_has(tensor)) continue;
      field types{field::shape::list, {}};
      for (std::int64_t layer = 0; layer < layers(); ++layer)
        types.values.emplace_back(std::string(layer_has(layer, tensor) ? type : "full_attention"));
      return types;
    }
    return std::nullopt;
  }

  // Else for each layer whether it has a window, or after how many one without follows; a ModernBERT begins with one.
  std::optional<field> layer_types() const {
    if (auto types = mixer_types()) return types;
    const auto pattern = find("attention.sliding_window_pattern");
    if (!pattern) return std::nullopt;
    field types{field::shape::list, {}};
    const auto add = [&](bool slides) {
      types.values.emplace_back(std::string(slides ? "sliding_attention" : "full_attention"));
    };
    if (pattern->kind == field::shape::list) {
      for (const auto& slides : pattern->values)
        add(slides == field_scalar(true) || slides == field_scalar(std::int64_t{1}));
    } else if (const auto period = integer("attention.sliding_window_pattern"); period && *period > 0) {
      const std::int64_t first = architecture() == "modern-bert" ? 0 : 1;
      for (std::int64_t layer = 0; layer < layers(); ++layer) add((layer + first) % *period != 0);
    }
    return types;
  }

  // Gemmas of 27 billion parameters divide by the width of all heads.
  std::optional<field> query_scalar() const {
    const auto heads = integer("attention.head_count");
    const bool largest = (family() == "gemma2" && layers() == 46) || (family() == "gemma3_text" && layers() == 62);
    const auto scalar = largest && heads > 0 ? integer("embedding_length").value_or(0) / *heads
                                             : integer("attention.key_length").value_or(0);
    return scalar > 0 ? std::optional(scalar_field(scalar)) : std::nullopt;
  }

  const gguf_file& file_;
};

}  // namespace

std::shared_ptr<const config_fields::lookup> gguf_fields(const gguf_file& file) {
  return std::make_shared<const gguf_lookup>(file);
}

}  // namespace cogen::load
