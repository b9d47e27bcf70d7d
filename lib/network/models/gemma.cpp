#include "formats/checkpoint/field_ranges.hpp"
#include "network/models/families.hpp"
#include "network/models/gemma3_fields.hpp"
#include "network/models/like_llama.hpp"

#include <cmath>

namespace cogen::models {
namespace {

constexpr load::key_names gemma_keys{.activation = "hidden_activation"};
constexpr float norm_offset = 1;

void refuse_encoders(const load::config_fields& fields) {
  constexpr std::string_view key = "use_bidirectional_attention";
  if (fields.boolean(key, false)) fields.refuse(key, "only causal models are read");
}

/// Embeddings are scaled, and all norms' weights count from 1.
model_spec gemma_decoder(const load::model_config& config) {
  auto spec = decoder(config);
  spec.embedding.scale = std::sqrt(static_cast<double>(config.hidden));
  spec.final_norm->weight_offset = norm_offset;
  return spec;
}

float cap(const load::config_fields& fields, std::string_view key, double fallback) {
  if (fields.is_null(key)) return 0;
  return static_cast<float>(fields.has(key) ? fields.real(key, load::softcaps) : fallback);
}

/// The first files say "gelu" and mean its approximation.
model_spec describe_gemma(const load::config_fields& fields, const load::model_config& config) {
  refuse_encoders(fields);
  auto spec = gemma_decoder(config);
  auto mlp = gated_mlp(config);
  if (mlp.activation == kernels::activation::gelu) mlp.activation = kernels::activation::gelu_tanh;
  for (std::int64_t layer = 0; layer < config.layers; ++layer)
    add_sandwich(spec, config, layer, attention(config), mlp,
                 {.after_attention = "", .before_mlp = "post_attention_layernorm", .after_mlp = ""}, norm_offset);
  return spec;
}

model_spec describe_gemma2(const load::config_fields& fields, const load::model_config& config) {
  refuse_encoders(fields);
  auto spec = gemma_decoder(config);
  spec.head.softcap = cap(fields, "final_logit_softcapping", 30);
  const auto windows = sliding_layers(fields, config, [](std::int64_t layer) { return layer % 2 == 0; });
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = attention(config);
    attends.scale = 1 / std::sqrt(fields.real("query_pre_attn_scalar", query_scalars, 256));
    attends.softcap = cap(fields, "attn_logit_softcapping", 50);
    if (windows[static_cast<std::size_t>(layer)]) attends.kv = sliding(config, *config.sliding_window);
    add_sandwich(spec, config, layer, attends, gated_mlp(config), {}, norm_offset);
  }
  return spec;
}

model_spec describe_gemma3(const load::config_fields& fields, const load::model_config& config) {
  const auto own = read_gemma3_fields(fields, config);
  auto spec = gemma_decoder(config);
  spec.head.softcap = static_cast<float>(own.logit_cap);
  if (!own.causal) spec.pooling = pooling_spec();
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    auto attends = attention(config);
    attends.scale = 1 / std::sqrt(own.query_scalar);
    attends.qk_norm = qk_norm_spec{.epsilon = config.rms_norm_eps, .weight_offset = norm_offset};
    attends.causal = own.causal;
    if (own.slides.at(static_cast<std::size_t>(layer))) {
      const auto window = config.sliding_window.value();
      attends.kv = sliding(config, own.causal ? window : window / 2 + 1);
      attends.rope = rope_spec{own.local};
    }
    add_sandwich(spec, config, layer, attends, gated_mlp(config), {}, norm_offset);
  }
  return spec;
}

}  // namespace

/// Gemma Team, arXiv:2403.08295.
const family gemma{
    .title = "Gemma",
    .fields = {.family = "gemma",
               .sizes = {.vocabulary = 256000, .hidden = 3072, .layers = 28, .heads = 16, .intermediate = 24576},
               .tokens = {.bos = 2, .pad = 0, .eos = 1},
               .keys = no_window_keys,
               .kv_heads = 16,
               .head_dim = 256,
               .max_positions = 8192,
               .activation = "gelu_pytorch_tanh",
               .tie_embeddings = true},
    .describe = describe_gemma};

/// Gemma Team, arXiv:2408.00118: norms before and after each half, a window in every other layer, capped scores.
const family gemma2{
    .title = "Gemma 2",
    .fields = {.family = "gemma2",
               .sizes = {.vocabulary = 256000, .hidden = 2304, .layers = 26, .heads = 8, .intermediate = 9216},
               .tokens = {.bos = 2, .pad = 0, .eos = 1},
               .keys = gemma_keys,
               .kv_heads = 4,
               .head_dim = 256,
               .max_positions = 8192,
               .sliding_window = 4096,
               .activation = "gelu_pytorch_tanh",
               .tie_embeddings = true},
    .describe = describe_gemma2};

/// Gemma Team, arXiv:2503.19786: norms of queries and gemma_keys, and windows in most layers, which rotate otherwise.
/// Schechter Vera et al., arXiv:2509.20354: EmbeddingGemma is one that attends both ways.
const family gemma3_text{
    .title = "Gemma 3 (text)",
    .fields = {.family = "gemma3_text",
               .sizes = {.vocabulary = 262208, .hidden = 2304, .layers = 26, .heads = 8, .intermediate = 9216},
               .tokens = {.bos = 2, .pad = 0, .eos = 1},
               .gguf = {.architecture = "gemma3", .also = "gemma-embedding"},
               .keys = gemma_keys,
               .kv_heads = 4,
               .head_dim = 256,
               .max_positions = 131072,
               .sliding_window = 4096,
               .rope_theta = 1e6,
               .activation = "gelu_pytorch_tanh",
               .tie_embeddings = true},
    .describe = describe_gemma3};

}  // namespace cogen::models
