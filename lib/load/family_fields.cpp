#include "load/family_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <algorithm>
#include <array>

namespace cogen::load {
namespace {

constexpr key_names gemma3_keys{.activation = "hidden_activation"};

// The decoder's: what is the encoder's own, the family reads itself.
constexpr key_names bart_keys{.hidden = "d_model",
                              .layers = "decoder_layers",
                              .heads = "decoder_attention_heads",
                              .kv_heads = "",
                              .head_dim = "",
                              .intermediate = "decoder_ffn_dim",
                              .rms_norm_eps = "",
                              .sliding_window = "",
                              .activation = "activation_function"};

constexpr key_names mamba_keys{.heads = "",
                               .kv_heads = "",
                               .head_dim = "",
                               .intermediate = "",
                               .max_positions = "",
                               .rms_norm_eps = "layer_norm_epsilon",
                               .sliding_window = ""};

constexpr key_names jamba_keys{.sliding_window = ""};
constexpr key_names layer_norm_keys{.rms_norm_eps = "layer_norm_eps"};
constexpr key_names phi_keys{.rms_norm_eps = "layer_norm_eps", .sliding_window = ""};
constexpr key_names no_window_keys{.sliding_window = ""};
constexpr key_names starcoder2_keys{.rms_norm_eps = "norm_epsilon"};
constexpr key_names nemotron_keys{.rms_norm_eps = "norm_eps", .sliding_window = ""};
constexpr key_names stablelm_keys{.rms_norm_eps = "layer_norm_eps", .sliding_window = ""};

constexpr key_names gpt2_keys{.hidden = "n_embd",
                              .layers = "n_layer",
                              .heads = "n_head",
                              .kv_heads = "",
                              .head_dim = "",
                              .intermediate = "n_inner",
                              .max_positions = "n_positions",
                              .rms_norm_eps = "layer_norm_epsilon",
                              .sliding_window = "",
                              .activation = "activation_function"};
constexpr key_names gpt_neox_keys{
    .kv_heads = "", .head_dim = "", .rms_norm_eps = "layer_norm_eps", .sliding_window = ""};
constexpr key_names opt_keys{.kv_heads = "",
                             .head_dim = "",
                             .intermediate = "ffn_dim",
                             .rms_norm_eps = "",
                             .sliding_window = "",
                             .activation = "activation_function"};
constexpr key_names falcon_keys{.kv_heads = "",
                                .head_dim = "",
                                .intermediate = "ffn_hidden_size",
                                .rms_norm_eps = "layer_norm_epsilon",
                                .sliding_window = "",
                                .activation = "activation"};
constexpr key_names bloom_keys{.layers = "n_layer",
                               .heads = "n_head",
                               .kv_heads = "",
                               .head_dim = "",
                               .intermediate = "ffn_hidden_size",
                               .max_positions = "",
                               .rms_norm_eps = "layer_norm_epsilon",
                               .sliding_window = "",
                               .activation = "hidden_act"};
constexpr key_names mpt_keys{.hidden = "d_model",
                             .layers = "n_layers",
                             .heads = "n_heads",
                             .kv_heads = "",
                             .head_dim = "",
                             .intermediate = "ffn_hidden_size",
                             .max_positions = "max_seq_len",
                             .rms_norm_eps = "layer_norm_epsilon",
                             .sliding_window = "",
                             .activation = "hidden_act"};

// A further family whose names or defaults differ adds its line.
constexpr std::array families{
    family_fields{.family = "llama", .gguf = {.interleaved = true}},
    family_fields{.family = "mistral", .kv_heads = 8, .max_positions = 131072, .sliding_window = 4096},
    family_fields{.family = "qwen2", .kv_heads = 32, .max_positions = 32768, .sliding_window = 4096},
    family_fields{.family = "qwen3", .kv_heads = 32, .head_dim = 128, .max_positions = 32768, .sliding_window = 4096},
    family_fields{.family = "gemma",
                  .keys = {.sliding_window = "", .activation = "hidden_activation"},
                  .kv_heads = 16,
                  .head_dim = 256,
                  .max_positions = 8192,
                  .activation = "gelu_pytorch_tanh",
                  .tie_embeddings = true},
    family_fields{.family = "gemma2",
                  .keys = gemma3_keys,
                  .kv_heads = 4,
                  .head_dim = 256,
                  .max_positions = 8192,
                  .sliding_window = 4096,
                  .activation = "gelu_pytorch_tanh",
                  .tie_embeddings = true},
    family_fields{.family = "phi3", .max_positions = 4096, .rms_norm_eps = 1e-5},
    family_fields{.family = "olmo2", .keys = no_window_keys, .rms_norm_eps = 1e-5},
    family_fields{.family = "olmo3", .sliding_window = 4096, .rms_norm_eps = 1e-5},
    family_fields{.family = "granite", .gguf = {.interleaved = true}, .keys = no_window_keys},
    family_fields{.family = "smollm3",
                  .gguf = {.interleaved = true},
                  .kv_heads = 4,
                  .max_positions = 32768,
                  .rope_theta = 2e6,
                  .tie_embeddings = true},
    family_fields{.family = "cohere",
                  .gguf = {.architecture = "command-r"},
                  .keys = phi_keys,
                  .max_positions = 8192,
                  .rms_norm_eps = 1e-5,
                  .rope_theta = 10000,
                  .tie_embeddings = true},
    family_fields{.family = "cohere2",
                  .keys = layer_norm_keys,
                  .max_positions = 8192,
                  .sliding_window = 4096,
                  .rms_norm_eps = 1e-5,
                  .tie_embeddings = true},
    family_fields{.family = "phi",
                  .gguf = {.architecture = "phi2"},
                  .keys = phi_keys,
                  .rms_norm_eps = 1e-5,
                  .partial_rotary = 0.5,
                  .activation = "gelu_new"},
    family_fields{.family = "glm", .gguf = {.known = false},
                  .keys = no_window_keys,
                  .kv_heads = 2,
                  .head_dim = 128,
                  .max_positions = 131072,
                  .rms_norm_eps = 1.5625e-07,
                  .partial_rotary = 0.5},
    family_fields{.family = "glm4",
                  .keys = no_window_keys,
                  .kv_heads = 2,
                  .head_dim = 128,
                  .max_positions = 131072,
                  .rms_norm_eps = 1.5625e-07,
                  .partial_rotary = 0.5},
    family_fields{.family = "exaone4", .kv_heads = 32, .sliding_window = 4096, .rms_norm_eps = 1e-5},
    family_fields{.family = "ministral", .gguf = {.known = false}, .kv_heads = 8, .max_positions = 131072, .sliding_window = 4096},
    family_fields{.family = "ministral3",
                  .gguf = {.architecture = "mistral3", .interleaved = true},
                  .kv_heads = 8,
                  .head_dim = 128,
                  .max_positions = 262144,
                  .rms_norm_eps = 1e-5},
    family_fields{
        .family = "seed_oss", .keys = no_window_keys, .kv_heads = 8, .head_dim = 128, .max_positions = 524288},
    family_fields{.family = "arcee",
                  .gguf = {.interleaved = true},
                  .keys = no_window_keys,
                  .max_positions = 4096,
                  .rms_norm_eps = 1e-5,
                  .activation = "relu2"},
    family_fields{.family = "ernie4_5",
                  .keys = no_window_keys,
                  .kv_heads = 2,
                  .head_dim = 128,
                  .max_positions = 131072,
                  .rms_norm_eps = 1e-5,
                  .rope_theta = 500000,
                  .tie_embeddings = true},
    family_fields{.family = "hunyuan_v1_dense",
                  .gguf = {.architecture = "hunyuan-dense"},
                  .keys = no_window_keys,
                  .rms_norm_eps = 1e-5},
    family_fields{.family = "stablelm",
                  .keys = stablelm_keys,
                  .kv_heads = 32,
                  .max_positions = 4096,
                  .rms_norm_eps = 1e-5,
                  .partial_rotary = 0.25},
    family_fields{.family = "starcoder2",
                  .keys = starcoder2_keys,
                  .kv_heads = 2,
                  .max_positions = 4096,
                  .rms_norm_eps = 1e-5,
                  .activation = "gelu_pytorch_tanh",
                  .tie_embeddings = true},
    family_fields{.family = "nemotron",
                  .keys = nemotron_keys,
                  .max_positions = 4096,
                  .rms_norm_eps = 1e-5,
                  .partial_rotary = 0.5,
                  .activation = "relu2"},
    family_fields{.family = "apertus",
                  .keys = no_window_keys,
                  .max_positions = 65536,
                  .rms_norm_eps = 1e-5,
                  .rope_theta = 12e6,
                  .activation = "xielu"},
    family_fields{.family = "gpt2",
                  .keys = gpt2_keys,
                  .max_positions = 1024,
                  .rms_norm_eps = 1e-5,
                  .intermediate_factor = 4,
                  .activation = "gelu_new",
                  .tie_embeddings = true,
                  .rotary = false},
    family_fields{
        .family = "gptj", .gguf = {.known = false}, .keys = gpt2_keys, .rms_norm_eps = 1e-5, .intermediate_factor = 4, .activation = "gelu_new"},
    family_fields{.family = "gpt_neox",
                  .gguf = {.architecture = "gptneox"},
                  .keys = gpt_neox_keys,
                  .rms_norm_eps = 1e-5,
                  .partial_rotary = 0.25,
                  .activation = "gelu"},
    family_fields{.family = "opt", .gguf = {.known = false},
                  .keys = opt_keys,
                  .rms_norm_eps = 1e-5,
                  .activation = "relu",
                  .tie_embeddings = true,
                  .rotary = false},
    family_fields{.family = "falcon",
                  .keys = falcon_keys,
                  .rms_norm_eps = 1e-5,
                  .intermediate_factor = 4,
                  .activation = "gelu",
                  .tie_embeddings = true},
    family_fields{.family = "bloom",
                  .keys = bloom_keys,
                  .max_positions = unlimited_positions,
                  .rms_norm_eps = 1e-5,
                  .intermediate_factor = 4,
                  .activation = "gelu_pytorch_tanh",
                  .tie_embeddings = true,
                  .rotary = false},
    family_fields{.family = "mpt",
                  .keys = mpt_keys,
                  .rms_norm_eps = 1e-5,
                  .intermediate_factor = 4,
                  .activation = "gelu",
                  .tie_embeddings = true,
                  .rotary = false},
    family_fields{.family = "gemma3_text",
                  .gguf = {.architecture = "gemma3"},
                  .keys = gemma3_keys,
                  .kv_heads = 4,
                  .head_dim = 256,
                  .max_positions = 131072,
                  .sliding_window = 4096,
                  .rope_theta = 1e6,
                  .activation = "gelu_pytorch_tanh",
                  .tie_embeddings = true},
    family_fields{.family = "bart", .gguf = {.known = false},
                  .keys = bart_keys,
                  .max_positions = 1024,
                  .rms_norm_eps = 1e-5,
                  .activation = "gelu",
                  .tie_embeddings = true,
                  .rotary = false,
                  .decoder_start_token = 2},
    family_fields{.family = "mamba",
                  .keys = mamba_keys,
                  .max_positions = unlimited_positions,
                  .rms_norm_eps = 1e-5,
                  .tie_embeddings = true,
                  .rotary = false},
    family_fields{.family = "jamba", .keys = jamba_keys, .kv_heads = 8, .max_positions = 262144, .rotary = false},
};

}  // namespace

const family_fields& fields_of(std::string_view family) {
  const auto* found = std::ranges::find(families, family, &family_fields::family);
  return found == families.end() ? families.front() : *found;
}

std::string_view family_of_architecture(std::string_view architecture) {
  const auto named = [](const family_fields& each) { return each.gguf.architecture; };
  const auto* found = architecture.empty() ? families.end() : std::ranges::find(families, architecture, named);
  return found == families.end() ? architecture : found->family;
}

bool stores_interleaved_heads(std::string_view family) {
  const auto* found = std::ranges::find(families, family, &family_fields::family);
  return found != families.end() && found->gguf.interleaved;
}

constexpr key_names gguf_keys{.vocabulary = "vocab_size",
                              .hidden = "embedding_length",
                              .layers = "block_count",
                              .heads = "attention.head_count",
                              .kv_heads = "attention.head_count_kv",
                              .head_dim = "attention.key_length",
                              .intermediate = "feed_forward_length",
                              .max_positions = "context_length",
                              .rms_norm_eps = "attention.layer_norm_rms_epsilon",
                              .sliding_window = "attention.sliding_window",
                              .activation = ""};

}  // namespace cogen::load
