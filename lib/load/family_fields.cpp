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

// A further family whose names or defaults differ adds its line.
constexpr std::array families{
    family_fields{.family = "llama"},
    family_fields{.family = "mistral", .kv_heads = 8, .max_positions = 131072, .sliding_window = 4096},
    family_fields{.family = "gemma3_text",
                  .keys = gemma3_keys,
                  .kv_heads = 4,
                  .head_dim = 256,
                  .max_positions = 131072,
                  .sliding_window = 4096,
                  .rope_theta = 1e6,
                  .activation = "gelu_pytorch_tanh",
                  .tie_embeddings = true},
    family_fields{.family = "bart",
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
