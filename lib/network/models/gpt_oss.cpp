#include "network/models/families.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"

#include <string_view>

namespace cogen::models {
namespace {

constexpr load::real_range swiglu_numbers{1e-3, 1e3};

moe_spec gpt_oss_experts(const load::config_fields& fields, const load::model_config& config) {
  auto moe = mixture(fields, config, {.experts = 128, .top_k = 4});
  moe.router = {.name = "router", .bias = true, .renormalized = true};
  moe.expert.activation = kernels::activation::swiglu_oai;
  moe.expert.parameters = {static_cast<float>(fields.real("swiglu_alpha", swiglu_numbers, 1.702)),
                           static_cast<float>(fields.real("swiglu_limit", swiglu_numbers, 7))};
  moe.expert.gate = moe.expert.up = "experts.gate_up_proj";
  moe.expert.down = "experts.down_proj";
  moe.expert.interleaved = moe.expert.bias = true;
  moe.expert.transposed = !fields.is("quantization_config.quant_method", "mxfp4");
  moe.stacked = true;
  moe.bias = "_bias";
  return moe;
}

model_spec describe_gpt_oss(const load::config_fields& fields, const load::model_config& config) {
  const auto windows = sliding_layers(fields, config, [](std::int64_t layer) { return layer % 2 == 0; });
  auto spec = like_llama(config, [&](std::int64_t layer) {
    auto self_attn = attention(config);
    if (windows[static_cast<std::size_t>(layer)]) self_attn.kv = sliding(config, *config.sliding_window);
    self_attn.qkv_bias = self_attn.output_bias = fields.boolean("attention_bias", true);
    self_attn.sink_logits = "sinks";
    if (fields.is_gguf()) self_attn.rope->config.truncate = false;
    return self_attn;
  });
  put_experts(spec, gpt_oss_experts(fields, config));
  return spec;
}

/// Of a file without rotary settings.
constexpr std::string_view usual_yarn = R"({"rope_type": "yarn", "factor": 32, "truncate": false,
    "original_max_position_embeddings": 4096})";

}  // namespace

/// OpenAI, arXiv:2508.10925: a logit of a sink in each head's softmax, a window in every second layer, and experts with
/// a SwiGLU of their own.
const family gpt_oss{
    .title = "gpt-oss",
    .fields = {.family = "gpt_oss",
               .sizes = {.vocabulary = 201088, .hidden = 2880, .layers = 36, .heads = 64, .intermediate = 2880},
               .gguf = {.architecture = "gpt-oss"},
               .kv_heads = 8,
               .head_dim = 64,
               .max_positions = 131072,
               .sliding_window = 128,
               .rms_norm_eps = 1e-5,
               .rope_theta = 150000,
               .rope_parameters = usual_yarn},
    .describe = describe_gpt_oss};

}  // namespace cogen::models
