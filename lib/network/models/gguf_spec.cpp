#include "network/models/gguf_spec.hpp"

#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/gguf_encoder_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

namespace cogen::models {

namespace {

/// Where a norm stands in its layer says what it is called; these are the exceptions.
struct renamed_norm {
  std::string_view family;
  std::string_view transformers;
  std::string_view gguf;
};

constexpr std::array renamed_norms{
    renamed_norm{"falcon", "ln_attn", "attn_norm_2"},
    renamed_norm{"falcon", "ln_mlp", "attn_norm"},
    renamed_norm{"falcon_h1", "pre_ff_layernorm", "bare.ffn_norm"},  // load::gguf_views
    renamed_norm{"gemma4_text", "pre_feedforward_layernorm_2", "pre_ffw_norm_2"},
    renamed_norm{"gemma4_text", "post_feedforward_layernorm_1", "post_ffw_norm_1"},
    renamed_norm{"gemma4_text", "post_feedforward_layernorm_2", "post_ffw_norm_2"},
    renamed_norm{"glm4_moe", "post_attention_layernorm", "post_attention_norm"},
    renamed_norm{"qwen3_next", "post_attention_layernorm", "post_attention_norm"},
    renamed_norm{"qwen3_5_moe_text", "post_attention_layernorm", "post_attention_norm"},
    renamed_norm{"gpt_oss", "post_attention_layernorm", "post_attention_norm"},
    renamed_norm{"qwen3_5_text", "post_attention_layernorm", "post_attention_norm"},
    renamed_norm{"seed_oss", "post_attention_layernorm", "post_attention_norm"},
};

class gguf_namer {
 public:
  explicit gguf_namer(const load::config_fields& fields)
      : fields_(fields),
        family_(fields.family()),
        fused_qkv_(shows("fused_qkv")),
        qkv_bias_(shows("attention_bias")),
        output_bias_(shows("attention_out_bias")),
        mlp_bias_(shows("mlp_bias")),
        separate_gate_(shows("mlp_gate")),
        fused_experts_(shows("fused_experts")),
        expert_bias_(shows("expert_bias")) {}

  void rename(embedding_spec& embedding) const {
    embedding.names = {"token_embd"};
    if (embedding.positions) embedding.positions->name = "position_embd";
    if (embedding.positions && !embedding.positions->types.empty()) embedding.positions->types = "token_types";
    rename(embedding.norm, "token_embd_norm");
  }

  void rename(std::optional<layer_inputs_spec>& inputs) const {
    if (!inputs) return;
    inputs->table = "per_layer_token_embd";
    inputs->projection = "per_layer_model_proj";
    inputs->norm.name = "per_layer_proj_norm";
  }

  void rename(std::optional<streams_spec>& streams) const {
    if (streams) *streams = {.count = streams->count, .in = "altup_proj", .out = "altup_unembd_proj", .stacked = true};
  }

  void rename(head_spec& head) const {
    head.names = {"output", "token_embd"};
    if (!head.bias.empty()) head.bias = "output.bias";
  }

  void rename(std::optional<norm_spec>& norm, std::string name) const {
    if (!norm) return;
    norm->name = std::move(name);
    norm->weight_offset = 0;
  }

  /// Behind the model's own layers.
  void rename(mtp_spec& mtp) {
    rename(mtp.blocks);
    rename(mtp.embedding_norm, "nextn.enorm");
    rename(mtp.hidden_norm, "nextn.hnorm");
    mtp.projection = layer_name("nextn.eh_proj");
    rename(mtp.final_norm, layer_name("nextn.shared_head_norm"));
  }

  /// A block that mixes tokens begins a layer, and those behind it belong to the layer too. A Nemotron-H has layers of
  /// one block.
  void rename(std::vector<block_spec>& blocks) {
    const bool apart = family_ == "nemotron_h";
    for (auto& block : blocks) {
      const bool is_beside =
          std::holds_alternative<layer_input_spec>(block.part) || std::holds_alternative<low_rank_spec>(block.part);
      const auto* const step = std::get_if<stream_step_spec>(&block.part);
      const bool mixes = !is_beside && !step && !is_mlp(block) && !std::holds_alternative<moe_spec>(block.part);
      if (is_beside || step) {
        if (step && !step->corrects) begin_layer();
        rename_in_layer(block, "attn_norm", "post_norm");
      } else if (!mixes && !apart) {
        rename_in_layer(block, "ffn_norm", "post_ffw_norm");
      } else {
        if (!block.parallel && !std::exchange(has_begun_, false)) ++layer_;
        rename_in_layer(block, "attn_norm", "post_attention_norm");
      }
    }
  }

 private:
  void rename(norm_spec& norm, std::string_view name) const {
    norm.name = layer_name(name);
    norm.weight_offset = 0;
  }

  bool shows(std::string_view key) const { return fields_.boolean(key, false); }

  void begin_layer() {
    ++layer_;
    has_begun_ = true;
  }

  void rename_in_layer(block_spec& block, std::string_view norm_name, std::string_view after) {
    block.prefix = fmt::format("blk.{}.", layer_);
    std::visit([&](const auto& part) { block.prefix += mixer_prefix(part); }, block.part);
    std::visit([this](auto& part) { rename(part); }, block.part);
    rename_before(block, norm_name);
    rename(block.after, layer_name(block.after ? name_of(block.after->name, after) : after));
    rename(block.shared_norm, layer_name(after));
    rename(block.post, layer_name(is_mlp(block) ? "layer_output_norm" : "attn_output_norm"));
    if (!block.scalar.empty()) block.scalar = layer_name("layer_output_scale");
  }

  static bool is_mlp(const block_spec& block) { return std::holds_alternative<mlp_spec>(block.part); }

  /// Blocks beside each other may read the same norm.
  void rename_before(block_spec& block, std::string_view usual) {
    if (!block.pre_norm) return;
    const auto given = block.pre_norm->name;
    if (given != last_norm_.transformers) last_norm_ = {given, layer_name(name_of(given, usual))};
    rename(block.pre_norm, last_norm_.gguf);
  }

  std::string layer_name(std::string_view name) const { return fmt::format("blk.{}.{}", layer_, name); }

  std::string_view name_of(std::string_view given, std::string_view usual) const {
    const auto* const found = std::ranges::find_if(renamed_norms, [&](const renamed_norm& norm) {
      return norm.family == family_ && given.ends_with(norm.transformers);
    });
    return found == renamed_norms.end() ? usual : found->gguf;
  }

  void rename(attention_spec& attends) const {
    const bool keys_are_values = attends.qkv.size() == 3 && attends.qkv[1] == attends.qkv[2];
    if (fused_qkv_)
      attends.qkv = {"attn_qkv"};
    else
      attends.qkv = {"attn_q", "attn_k", "attn_v"};
    if (keys_are_values) attends.qkv.back() = "attn_k";
    attends.output = "attn_output";
    attends.grouped_qkv = attends.transposed = false;
    attends.qkv_bias = qkv_bias_;
    attends.output_bias = output_bias_;
    if (!attends.sink_logits.empty()) attends.sink_logits = "attn_sinks.weight";
    if (!attends.qk_norm) return;
    if (!attends.qk_norm->q.empty()) attends.qk_norm->q = "attn_q_norm";
    if (!attends.qk_norm->k.empty()) attends.qk_norm->k = "attn_k_norm";
    attends.qk_norm->weight_offset = 0;
  }

  void rename(latent_attention_spec& attends) const {
    attends.q = "attn_q";
    attends.q_down = "attn_q_a";
    attends.q_norm = "attn_q_a_norm";
    attends.q_up = "attn_q_b";
    attends.kv_down = "attn_kv_a_mqa";
    attends.kv_norm = "attn_kv_a_norm";
    if (shows("stacked_kv_up"))
      attends.kv_up = {"attn_k_b", "attn_v_b"};
    else
      attends.kv_up = {"attn_kv_b"};
    attends.output = "attn_output";
    attends.down_bias = shows("latent_bias");
    attends.output_bias = output_bias_;
  }

  void rename(mlp_spec& mlp) const {
    if (mlp.gate == mlp.up && !separate_gate_)
      mlp.gate = "ffn_up";
    else if (!mlp.gate.empty())
      mlp.gate = "ffn_gate";
    mlp.up = "ffn_up";
    mlp.down = "ffn_down";
    mlp.transposed = false;
    mlp.bias = mlp_bias_;
  }

  void rename(moe_spec& moe) const {
    rename(moe.expert, "_exps");
    if (fused_experts_) moe.expert.gate = moe.expert.up = "ffn_gate_up_exps";
    moe.stacked = true;
    moe.bias = ".bias";
    moe.expert.bias = expert_bias_;
    moe.router.name = "ffn_gate_inp";
    if (moe.router.pre_norm) moe.router.pre_norm->name = layer_name("ffn_gate_inp.scale");
    if (!moe.router.share_scales.empty()) moe.router.share_scales = "ffn_down_exps.scale";
    if (!moe.router.choice_bias.empty()) moe.router.choice_bias = "exp_probs_b.bias";
    if (moe.latent) moe.latent = {.width = moe.latent->width, .down = "ffn_latent_down", .up = "ffn_latent_up"};
    if (!moe.shared) return;
    rename(moe.shared->mlp, "_shexp");
    if (!moe.shared->gate.empty()) moe.shared->gate = "ffn_gate_inp_shexp";
  }

  void rename(mlp_spec& mlp, std::string_view ending) const {
    if (!mlp.gate.empty()) mlp.gate = fmt::format("ffn_gate{}", ending);
    mlp.up = fmt::format("ffn_up{}", ending);
    mlp.down = fmt::format("ffn_down{}", ending);
    mlp.transposed = mlp.interleaved = mlp.bias = false;
  }

  void rename(layer_input_spec& input) const {
    input.gate = "inp_gate";
    input.down = "proj";
  }

  void rename(low_rank_spec& low) const {
    low.left = "laurel_l";
    low.right = "laurel_r";
    low.norm.name = layer_name("laurel_post_norm");
  }

  void rename(stream_step_spec& step) const {
    step.norm.name = layer_name("altup_router_norm");
    step.router = "altup_router";
    step.coefficients = step.corrects ? "altup_correct_coef" : "altup_predict_coef";
    if (!step.scale.empty()) step.scale = "altup_correct_scale";
  }

  void rename(linear_spec&) const {}
  void rename(mamba_spec&) const {}
  void rename(short_convolution_spec&) const {}
  void rename(delta_net_spec& net) const {
    net.tiled = !net.grouped_qkvz;
    net.grouped_qkvz = false;
  }
  void rename(mamba2_spec&) const {}
  void rename(time_mix_spec&) const {}
  void rename(channel_mix_spec&) const {}

  // By which load::gguf_views knows the tensors of a mixer.
  static std::string_view mixer_prefix(const mamba_spec&) { return "mamba."; }
  static std::string_view mixer_prefix(const mamba2_spec&) { return "mamba2."; }
  static std::string_view mixer_prefix(const delta_net_spec&) { return "linear_attn."; }
  static std::string_view mixer_prefix(const short_convolution_spec&) { return "conv."; }
  template <class Other>
  static std::string_view mixer_prefix(const Other&) {
    return "";
  }

  struct norm_name {
    std::string transformers, gguf;
  };

  const load::config_fields& fields_;
  std::string family_;
  bool fused_qkv_, qkv_bias_, output_bias_, mlp_bias_, separate_gate_, fused_experts_, expert_bias_;
  norm_name last_norm_;
  int layer_ = -1;
  bool has_begun_ = false;  // before its attention
};

}  // namespace

namespace {

/// Layers that guess further tokens follow the others.
std::vector<std::string> prediction_layers(const load::config_fields& fields) {
  std::vector<std::string> names;
  const auto count = fields.integer("block_count", load::layer_counts);
  const auto predicting = fields.integer("nextn_predict_layers", {0, count - 1}, 0);
  for (auto layer = count - predicting; layer < count; ++layer)
    for (const auto* prefix : {"blk.{}.*", "model.layers.{}.*"})
      names.push_back(fmt::format(fmt::runtime(prefix), layer));
  return names;
}

}  // namespace

model_spec as_gguf(model_spec spec, const load::config_fields& fields) {
  if (spec.encoder) return with_encoder_as_gguf(std::move(spec));
  gguf_namer namer(fields);
  namer.rename(spec.embedding);
  namer.rename(spec.layer_inputs);
  namer.rename(spec.streams);
  namer.rename(spec.blocks);
  namer.rename(spec.final_norm, fields.family().starts_with("lfm2") ? "token_embd_norm" : "output_norm");
  namer.rename(spec.head);
  if (spec.mtp) namer.rename(*spec.mtp);
  spec.base.clear();
  std::erase_if(spec.unread, [](const auto& name) { return name.ends_with('*'); });
  std::ranges::move(prediction_layers(fields), std::back_inserter(spec.unread));
  return spec;
}

}  // namespace cogen::models
