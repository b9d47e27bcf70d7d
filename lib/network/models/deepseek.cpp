#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/rope_config.hpp"
#include "network/models/families.hpp"
#include "network/models/latent_attention.hpp"
#include "network/models/like_llama.hpp"
#include "network/models/mixture.hpp"
#include "network/models/mtp.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

namespace cogen::models {
namespace {

using layer_predicate = std::function<bool(std::int64_t)>;

layer_predicate after_dense_layers(const load::config_fields& fields, std::int64_t missing) {
  const auto dense = fields.integer("first_k_dense_replace", {0, load::layer_counts.highest}, missing);
  return [dense](std::int64_t layer) { return layer >= dense; };
}

/// By "mlp_layer_types", or all but the first.
std::vector<bool> sparse_layers(const load::config_fields& fields, const load::model_config& config) {
  constexpr std::string_view key = "mlp_layer_types";
  std::vector<bool> sparse;
  for (const auto& type : fields.strings(key)) {
    if (type != "dense" && type != "sparse") fields.refuse(key, "'dense' and 'sparse' are known");
    sparse.push_back(type == "sparse");
  }
  const auto layers = static_cast<std::size_t>(config.layers);
  if (!sparse.empty() && sparse.size() != layers) fields.refuse(key, "it must name all layers");
  if (sparse.empty()) sparse.assign(layers, true), sparse.front() = false;
  return sparse;
}

model_spec with_experts(const load::config_fields& fields, const load::model_config& config,
                        const latent_attention_spec& attention, const moe_spec& experts,
                        const layer_predicate& has_experts) {
  auto spec = latent_decoder(config, attention);
  put_experts(spec, experts, "mlp.", has_experts);
  add_mtp_layer(spec, experts, fields, config, config.family == "deepseek_v3" ? 1 : 0);
  return spec;
}

/// In GGUF files the families differ in the function of scores.
bool scores_by_softmax(const load::config_fields& fields) {
  constexpr std::int64_t softmax = 1, sigmoid = 2;
  return fields.is_gguf() && fields.integer("expert_gating_func", {softmax, sigmoid}) == softmax;
}

model_spec describe_deepseek_v2(const load::config_fields& fields, const load::model_config& config) {
  const bool has_groups = fields.is_gguf() && fields.has("n_group");
  const auto method = fields.string("topk_method", has_groups ? "group_limited_greedy" : "greedy");
  if (method != "greedy" && method != "group_limited_greedy")
    fields.refuse("topk_method", "'greedy' and 'group_limited_greedy' are known");
  auto experts = softmax_mixture(fields, config, {.experts = 64, .width = 1407, .shared = 2}, method != "greedy");
  return with_experts(fields, config, latent_attention(fields, config), experts, after_dense_layers(fields, 0));
}

model_spec describe_deepseek_v3(const load::config_fields& fields, const load::model_config& config) {
  if (scores_by_softmax(fields)) return deepseek_v2.describe(fields, config);
  mixture_defaults missing{.experts = 256, .top_k = 8, .width = 2048};
  if (!fields.is_gguf()) {
    missing.groups = 8;
    missing.top_groups = 4;
    missing.scale = 2.5;
  }
  auto experts = sigmoid_mixture(fields, config, missing);
  experts.router.renormalized = fields.boolean("norm_topk_prob", !fields.is_gguf());
  return with_experts(fields, config, latent_attention(fields, config), experts, after_dense_layers(fields, 3));
}

model_spec describe_kimi_k2(const load::config_fields& fields, const load::model_config& config) {
  return deepseek_v3.describe(fields, config);
}

model_spec describe_glm4_moe_lite(const load::config_fields& fields, const load::model_config& config) {
  auto experts = sigmoid_mixture(fields, config, {.experts = 64, .top_k = 4, .width = 1536, .scale = 1.8});
  experts.router.renormalized = fields.boolean("norm_topk_prob", true);
  const auto attention = latent_attention(fields, config, {.nope_dim = 192, .value_dim = 256, .q_rank = 768});
  const auto sparse = sparse_layers(fields, config);
  return with_experts(fields, config, attention, experts,
                      [&](std::int64_t layer) { return sparse[static_cast<std::size_t>(layer)]; });
}

/// The part of a head that is rotated is a fraction of the whole head.
load::rope_config mistral4_rotation(const load::config_fields& fields, const load::model_config& config,
                                    const latent_defaults& missing) {
  const auto rope_dim = fields.integer("qk_rope_head_dim", load::head_dims, missing.rope_dim);
  auto head = config;
  head.head_dim = rope_dim + fields.integer("qk_nope_head_dim", load::head_dims, missing.nope_dim);
  const auto share = static_cast<double>(rope_dim) / static_cast<double>(head.head_dim);
  return load::read_rope_config(fields, head, {.partial_factor = share});
}

model_spec describe_mistral4(const load::config_fields& fields, const load::model_config& config) {
  auto experts = softmax_mixture(fields, config, {.experts = 128, .top_k = 4, .width = 2048}, true);
  experts.expert.gate = experts.expert.up = "experts.gate_up_proj";
  experts.expert.down = "experts.down_proj";
  experts.stacked = true;
  experts.router.groups_by = router_spec::group_scoring::two_best;
  experts.router.renormalized = fields.boolean("norm_topk_prob", true);
  constexpr latent_defaults missing{.nope_dim = 64, .kv_rank = 256, .q_rank = 1024};
  auto shape = config;
  shape.rope = mistral4_rotation(fields, config, missing);
  auto attention = latent_attention(fields, shape, missing);
  attention.query_growth = query_growth(fields, shape);
  return with_experts(fields, config, attention, experts, after_dense_layers(fields, 0));
}

/// Of a file without rotary settings.
constexpr std::string_view usual_mistral4_rope =
    R"({"rope_type": "yarn", "rope_theta": 10000, "factor": 128, "mscale": 1, "mscale_all_dim": 1,
    "original_max_position_embeddings": 8192, "llama_4_scaling_beta": 0.1})";

}  // namespace

/// DeepSeek-V2 (DeepSeek-AI, arXiv:2405.04434): latent attention, and experts by softmax in all but the first layers,
/// those of groups with the best experts where the configuration says so.
const family deepseek_v2{
    .title = "DeepSeek-V2",
    .fields = {.family = "deepseek_v2",
               .sizes = {.vocabulary = 102400, .hidden = 4096, .layers = 32, .heads = 32, .intermediate = 11008},
               .tokens = {.bos = 1, .eos = 2},
               .gguf = {.architecture = "deepseek2"},
               .keys = latent_keys,
               .head_dim = 64,
               .mlp_bias = false},
    .describe = describe_deepseek_v2};

/// DeepSeek-V3 and R1 (DeepSeek-AI, arXiv:2412.19437): latent attention, and experts by sigmoids in all but the first
/// layers. One layer more is for multi-token prediction.
const family deepseek_v3{
    .title = "DeepSeek-V3, R1",
    .fields = {.family = "deepseek_v3",
               .sizes = {.vocabulary = 129280, .hidden = 7168, .layers = 61, .heads = 128, .intermediate = 18432},
               .tokens = {.bos = 0, .eos = 1},
               .gguf = {.architecture = "deepseek2"},
               .keys = latent_keys,
               .head_dim = 64,
               .max_positions = 4096},
    .describe = describe_deepseek_v3};

/// Kimi K2 (Kimi Team, arXiv:2507.20534): DeepSeek-V3 with more experts in one group.
const family kimi_k2{.title = "Kimi K2",
                     .fields = {.family = "kimi_k2",
                                .gguf = {.architecture = "deepseek2"},
                                .keys = latent_keys,
                                .head_dim = 64,
                                .max_positions = 131072},
                     .describe = describe_kimi_k2};

/// GLM-4.7 Flash: DeepSeek-V3 whose layers say whether they have experts.
const family glm4_moe_lite{
    .title = "GLM-4.7 Flash",
    .fields = {.family = "glm4_moe_lite",
               .sizes = {.vocabulary = 154880, .hidden = 2048, .layers = 47, .heads = 20, .intermediate = 10240},
               .tokens = {.bos = 0, .eos = 1},
               .gguf = {.architecture = "deepseek2"},
               .keys = latent_keys,
               .head_dim = 64,
               .max_positions = 202752,
               .rms_norm_eps = 1e-5,
               .partial_rotary = 1},
    .describe = describe_glm4_moe_lite};

/// Mistral 4: DeepSeek-V3's attention, whose queries grow with their position, and experts by softmax, whose shares are
/// renormalized. One tensor holds all experts of a layer.
const family mistral4{
    .title = "Mistral 4",
    .fields = {.family = "mistral4",
               .sizes = {.vocabulary = 131072, .hidden = 4096, .layers = 36, .heads = 32, .intermediate = 12288},
               .tokens = {.bos = 1, .pad = 11, .eos = 2},
               .gguf = {.known = false},
               .keys = {.kv_heads = "", .sliding_window = ""},
               .head_dim = 128,
               .max_positions = 1048576,
               .partial_rotary = 0.5,
               .rope_parameters = usual_mistral4_rope},
    .describe = describe_mistral4};

}  // namespace cogen::models
