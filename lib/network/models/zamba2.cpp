#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mamba_fields.hpp"
#include "network/models/mamba_mixer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::models {
namespace {

/// Where a file does not say what its layers are.
constexpr std::int64_t usual_layers = 54;
constexpr std::array<std::int64_t, 9> usual_hybrid_layers{6, 12, 18, 24, 30, 36, 42, 47, 51};

/// For each layer whether shared blocks add to what its mixer reads.
std::vector<bool> hybrid_layers_of(const load::config_fields& fields, const load::model_config& config) {
  constexpr std::string_view key = "layers_block_type";
  std::vector<bool> hybrid;
  if (!fields.has(key))
    for (std::int64_t layer = 0; layer < usual_layers; ++layer)
      hybrid.push_back(std::ranges::find(usual_hybrid_layers, layer) != usual_hybrid_layers.end());
  for (const auto& type : fields.strings(key)) {
    if (type != "hybrid" && type != "linear_attention" && type != "mamba")
      fields.refuse(key, "'hybrid', 'linear_attention' and 'mamba' are known");
    hybrid.push_back(type == "hybrid");
  }
  if (static_cast<std::int64_t>(hybrid.size()) != config.layers)
    fields.refuse(key, fmt::format("it must name {} layers", config.layers));
  return hybrid;
}

/// Attention and a feed-forward, of which there are a few that layers use in turn, each time with other adapters. They
/// are called after the first layer that uses them.
class shared_blocks {
 public:
  shared_blocks(const load::config_fields& fields, const load::model_config& config)
      : config_(config),
        count_(static_cast<std::size_t>(fields.integer("num_mem_blocks", load::layer_counts, 1))),
        rank_(fields.integer("adapter_rank", load::inner_widths, 128)),
        biased_(fields.boolean("add_bias_linear", false)),
        rotates_(fields.boolean("use_mem_rope", false)),
        adapts_attention_(fields.boolean("use_shared_attention_adapter", false)) {
    if (config.head_dim * config.heads != 2 * config.hidden)
      fields.refuse("attention_head_dim", fmt::format("times num_attention_heads = {} it must be 2 * hidden_size = {}",
                                                      config.heads, 2 * config.hidden));
    if (adapts_attention_ && config.kv_heads != config.heads)
      fields.refuse("num_key_value_heads", "with use_shared_attention_adapter it must be num_attention_heads");
    if (!config.tie_embeddings)
      fields.refuse("tie_word_embeddings", "in Transformers it unties the shared blocks, too; it must be true");
    if (fields.boolean("use_long_context", false))
      fields.refuse("use_long_context", "contexts that are not extended are read");
  }

  void add_to(model_spec& spec, std::int64_t layer) {
    if (prefixes_.size() < count_) prefixes_.push_back(layer_prefix(layer) + "shared_transformer.");
    const auto& shared = prefixes_[use_ % count_];
    spec.blocks.push_back({.part = attends(),
                           .prefix = shared + "self_attn.",
                           .pre_norm = rms_norm(config_, shared + "input_layernorm"),
                           .feeds_next = feed::result});
    spec.blocks.push_back({.part = feeds(),
                           .prefix = shared + "feed_forward.",
                           .pre_norm = rms_norm(config_, shared + "pre_ff_layernorm"),
                           .feeds_next = feed::result});
    spec.blocks.push_back({.part = linear_spec{}, .prefix = layer_prefix(layer), .feeds_next = feed::sum});
    ++use_;
  }

 private:
  adapter_spec adapter(std::string_view name) const {
    return {.rank = rank_,
            .down = fmt::format("{}_adapter_list.{}.0", name, use_),
            .up = fmt::format("{}_adapter_list.{}.1", name, use_)};
  }

  attention_spec attends() const {
    auto self_attn = attention(config_);
    self_attn.scale = 1 / std::sqrt(static_cast<double>(config_.head_dim) / 2);
    self_attn.reads_embeddings = true;
    if (!rotates_) self_attn.rope.reset();
    if (adapts_attention_) self_attn.adapters = {adapter("linear_q"), adapter("linear_k"), adapter("linear_v")};
    return self_attn;
  }

  mlp_spec feeds() const {
    auto mlp = gated_mlp(config_);
    mlp.gate = mlp.up = "gate_up_proj";
    mlp.bias = biased_;
    mlp.adapters = {adapter("gate_up_proj")};
    return mlp;
  }

  const load::model_config& config_;
  std::size_t count_;
  std::int64_t rank_;
  bool biased_, rotates_, adapts_attention_;
  std::vector<std::string> prefixes_;
  std::size_t use_ = 0;
};

model_spec describe_zamba2(const load::config_fields& fields, const load::model_config& config) {
  auto mixes = mamba2_mixer(fields, read_zamba_mamba2_fields(fields, config), config);
  mixes.norm_epsilon = 1e-5;
  shared_blocks shared(fields, config);
  auto spec = decoder(config, rms_norm(config, "model.final_layernorm"));
  std::int64_t layer = 0;
  for (const bool is_hybrid : hybrid_layers_of(fields, config)) {
    if (is_hybrid) shared.add_to(spec, layer);
    const auto prefix = layer_prefix(layer++) + (is_hybrid ? "mamba_decoder." : "");
    spec.blocks.push_back(
        {.part = mixes, .prefix = prefix + "mamba.", .pre_norm = rms_norm(config, prefix + "input_layernorm")});
  }
  return spec;
}

}  // namespace

/// Glorioso et al., arXiv:2411.15242: Mamba-2 in every layer, into some of which attention to hidden states and
/// embeddings and a feed-forward add, whose weights these layers share. Time steps of prompts are not raised to
/// "time_step_min", as those of later tokens are not.
const family zamba2{.title = "Zamba 2",
                    .fields = {.family = "zamba2",
                               .sizes = {.vocabulary = 32000, .hidden = 2560, .layers = 54, .heads = 32},
                               .tokens = {.bos = 1, .pad = 0, .eos = 2},
                               .gguf = {.known = false},
                               .keys = {.head_dim = "attention_head_dim", .sliding_window = ""},
                               .head_dim_factor = 2,
                               .max_positions = 4096,
                               .rms_norm_eps = 1e-5,
                               .intermediate_factor = 4,
                               .activation = "gelu",
                               .attention_bias = std::nullopt,
                               .tie_embeddings = true},
                    .describe = describe_zamba2};

}  // namespace cogen::models
