#include "load/message.hpp"
#include "load/rope_config.hpp"

#include <cogen/load/model_config.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace cogen::load {
namespace {

constexpr integer_range layer_counts{1, 1 << 12};
constexpr integer_range head_counts{1, 1 << 14};
constexpr integer_range head_sizes{1, 1 << 13};
constexpr integer_range widths{1, 1 << 20};
constexpr integer_range inner_widths{1, 1 << 24};
constexpr integer_range vocabularies{1, 1 << 24};
constexpr integer_range position_counts{1, (std::int64_t{1} << 31) - 1};
constexpr real_range epsilons{1e-30, 1};

// What a source calls the fields that every decoder has.
struct key_names {
  std::string_view vocabulary, hidden, layers, heads, kv_heads, head_dim, intermediate, max_positions, rms_norm_eps,
      sliding_window;
};

constexpr key_names hugging_face_keys{.vocabulary = "vocab_size",
                                      .hidden = "hidden_size",
                                      .layers = "num_hidden_layers",
                                      .heads = "num_attention_heads",
                                      .kv_heads = "num_key_value_heads",
                                      .head_dim = "head_dim",
                                      .intermediate = "intermediate_size",
                                      .max_positions = "max_position_embeddings",
                                      .rms_norm_eps = "rms_norm_eps",
                                      .sliding_window = "sliding_window"};

constexpr key_names gguf_keys{.vocabulary = "vocab_size",
                              .hidden = "embedding_length",
                              .layers = "block_count",
                              .heads = "attention.head_count",
                              .kv_heads = "attention.head_count_kv",
                              .head_dim = "attention.key_length",
                              .intermediate = "feed_forward_length",
                              .max_positions = "context_length",
                              .rms_norm_eps = "attention.layer_norm_rms_epsilon",
                              .sliding_window = "attention.sliding_window"};

// What a family's configuration class in Transformers takes for a key that config.json leaves out.
// A further family with other values adds its line.
struct family_defaults {
  std::string_view family;
  std::int64_t max_positions;
  double rms_norm_eps;
  bool tie_embeddings;
};

constexpr std::array defaults_by_family{
    family_defaults{.family = "llama", .max_positions = 2048, .rms_norm_eps = 1e-6, .tie_embeddings = false},
};

const family_defaults& defaults_of(std::string_view family) {
  const auto* found = std::ranges::find(defaults_by_family, family, &family_defaults::family);
  return found == defaults_by_family.end() ? defaults_by_family.front() : *found;
}

bool is_gguf(const config_fields& fields) { return fields.origin() == config_fields::source::gguf; }

std::int64_t read_vocabulary(const config_fields& fields, const key_names& keys) {
  if (is_gguf(fields) && !fields.has(keys.vocabulary)) {
    const auto tokens = static_cast<std::int64_t>(fields.size("tokenizer.ggml.tokens"));
    if (tokens > 0) return tokens;
  }
  return fields.integer(keys.vocabulary, vocabularies);
}

void read_heads(const config_fields& fields, const key_names& keys, model_config& config) {
  config.heads = fields.integer(keys.heads, head_counts);
  config.kv_heads = fields.integer(keys.kv_heads, head_counts, config.heads);
  if (config.heads % config.kv_heads != 0) {
    fields.refuse(keys.kv_heads, fmt::format("{} = {} must be a multiple of it", keys.heads, config.heads));
  }
  if (!fields.has(keys.head_dim) && config.hidden % config.heads != 0) {
    fields.refuse(keys.heads, fmt::format("{} = {} must be a multiple of it, or {} be given", keys.hidden,
                                          config.hidden, keys.head_dim));
  }
  config.head_dim = fields.integer(keys.head_dim, head_sizes, config.hidden / config.heads);
}

void read_shape(const config_fields& fields, const key_names& keys, model_config& config) {
  const auto& defaults = defaults_of(config.family);
  config.vocabulary = read_vocabulary(fields, keys);
  config.hidden = fields.integer(keys.hidden, widths);
  config.layers = fields.integer(keys.layers, layer_counts);
  config.intermediate = fields.integer(keys.intermediate, inner_widths);
  config.max_positions = fields.integer(keys.max_positions, position_counts, defaults.max_positions);
  config.rms_norm_eps = fields.real(keys.rms_norm_eps, epsilons, defaults.rms_norm_eps);
  if (fields.has(keys.sliding_window)) config.sliding_window = fields.integer(keys.sliding_window, position_counts);
  read_heads(fields, keys, config);
}

void read_layer_types(const config_fields& fields, model_config& config) {
  config.layer_types = fields.strings("layer_types");
  const auto count = static_cast<std::int64_t>(config.layer_types.size());
  if (count != 0 && count != config.layers) {
    fields.refuse("layer_types", fmt::format("it must name num_hidden_layers = {} layers", config.layers));
  }
}

integer_range token_ids(const model_config& config) { return {0, config.vocabulary - 1}; }

std::optional<token> read_token(const config_fields& fields, std::string_view key, integer_range range) {
  if (!fields.has(key)) return std::nullopt;
  return static_cast<token>(fields.integer(key, range));
}

std::vector<token> read_tokens(const config_fields& fields, std::string_view key, integer_range range) {
  const auto ids = fields.integers(key, range);
  return {ids.begin(), ids.end()};
}

// Checkpoints of the first Llama say -1 where there is no padding token.
std::optional<token> read_padding(const config_fields& fields, std::string_view key, integer_range range) {
  const auto id = read_token(fields, key, {-1, range.highest});
  return id == -1 ? std::nullopt : id;
}

void read_hugging_face(const config_fields& fields, model_config& config) {
  config.activation = fields.string("hidden_act", "silu");
  config.attention_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  config.tie_embeddings = fields.boolean("tie_word_embeddings", defaults_of(config.family).tie_embeddings);
  config.rope = read_rope_config(fields, config);
  read_layer_types(fields, config);
  config.bos = read_token(fields, "bos_token_id", token_ids(config));
  config.eos = read_tokens(fields, "eos_token_id", token_ids(config));
  config.pad = read_padding(fields, "pad_token_id", token_ids(config));
}

std::vector<token> gguf_end_tokens(const config_fields& fields, integer_range range) {
  std::vector<token> ends;
  for (const auto* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    const auto id = read_token(fields, key, range);
    if (id && std::ranges::find(ends, *id) == ends.end()) ends.push_back(*id);
  }
  return ends;
}

void read_gguf(const config_fields& fields, model_config& config) {
  config.rope = read_gguf_rope_config(fields, config);
  config.bos = read_token(fields, "tokenizer.ggml.bos_token_id", token_ids(config));
  config.eos = gguf_end_tokens(fields, token_ids(config));
  config.pad = read_padding(fields, "tokenizer.ggml.padding_token_id", token_ids(config));
}

}  // namespace

model_config read_model_config(const config_fields& fields) {
  model_config config;
  config.family = fields.family();
  read_shape(fields, is_gguf(fields) ? gguf_keys : hugging_face_keys, config);
  is_gguf(fields) ? read_gguf(fields, config) : read_hugging_face(fields, config);
  return config;
}

void read_generation_config(const config_fields& fields, model_config& config) {
  auto eos = read_tokens(fields, "eos_token_id", token_ids(config));
  if (!eos.empty()) config.eos = std::move(eos);
}

}  // namespace cogen::load
