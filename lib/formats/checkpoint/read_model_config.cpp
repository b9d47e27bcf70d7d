#include "formats/checkpoint/read_model_config.hpp"

#include "formats/checkpoint/family_fields.hpp"
#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/rope_config.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace cogen::load {
namespace {

constexpr integer_range vocabularies{1, 1 << 24};
constexpr integer_range any_integer{std::numeric_limits<std::int64_t>::min()};
constexpr real_range epsilons{1e-30, 1};

bool read_flag(const config_fields& fields, std::string_view key, std::optional<bool> fallback) {
  return fallback && fields.boolean(key, *fallback);
}

std::int64_t read_size(const config_fields& fields, std::string_view key, integer_range range, std::int64_t fallback) {
  return fallback == 0 ? fields.integer(key, range) : fields.integer(key, range, fallback);
}

std::int64_t read_vocabulary(const config_fields& fields, const key_names& keys, std::int64_t fallback) {
  if (fields.is_gguf() && !fields.has(keys.vocabulary)) {
    const auto tokens = static_cast<std::int64_t>(fields.size("tokenizer.ggml.tokens"));
    if (tokens > 0) return tokens;
  }
  return read_size(fields, keys.vocabulary, vocabularies, fallback);
}

// Zero where the models have no such field. Of a list with a number for each layer, the largest.
std::int64_t read_intermediate(const config_fields& fields, std::string_view key, const family_fields& family,
                               std::int64_t hidden) {
  if (key.empty()) return 0;
  if (fields.size(key) > 0) return std::ranges::max(fields.integers(key, inner_widths));
  if (family.intermediate_factor == 0) return read_size(fields, key, inner_widths, family.sizes.intermediate);
  return fields.integer(key, inner_widths, family.intermediate_factor * hidden);
}

// A list has a number for each layer, 0 for those without attention.
std::int64_t max_kv_heads(const config_fields& fields, std::string_view key) {
  return std::max(std::ranges::max(fields.integers(key, {0, head_counts.highest})), head_counts.lowest);
}

// In Transformers a null says "as many as heads", whatever a key that is left out stands for.
std::int64_t read_kv_heads(const config_fields& fields, std::string_view key, std::int64_t fallback,
                           std::int64_t heads) {
  if (key.empty()) return heads;
  if (fields.is_gguf() && fields.size(key) > 0) return max_kv_heads(fields, key);
  return fields.integer(key, head_counts, fallback == 0 || fields.is_null(key) ? heads : fallback);
}

std::int64_t read_head_dim(const config_fields& fields, const key_names& keys, const family_fields& family,
                           const model_config& config) {
  const bool is_given = !keys.head_dim.empty() && fields.has(keys.head_dim);
  if (is_given) return fields.integer(keys.head_dim, head_dims);
  const auto width = family.head_dim_factor * config.hidden;
  if (family.head_dim != 0) return fields.is_null(keys.head_dim) ? width / config.heads : family.head_dim;
  if (width % config.heads != 0) {
    fields.refuse(keys.heads, fmt::format("{} = {} must be a multiple of it{}", keys.hidden, config.hidden,
                                          keys.head_dim.empty() ? "" : fmt::format(", or {} be given", keys.head_dim)));
  }
  return width / config.heads;
}

void read_heads(const config_fields& fields, const key_names& keys, const family_fields& family, model_config& config) {
  if (keys.heads.empty()) return;
  config.heads = read_size(fields, keys.heads, head_counts, family.sizes.heads);
  config.kv_heads = read_kv_heads(fields, keys.kv_heads, family.kv_heads, config.heads);
  if (config.heads % config.kv_heads != 0) {
    fields.refuse(keys.kv_heads, fmt::format("{} = {} must be a multiple of it", keys.heads, config.heads));
  }
  config.head_dim = read_head_dim(fields, keys, family, config);
}

// A null or a zero says that there is none, whatever a key that is left out stands for.
std::optional<std::int64_t> read_window(const config_fields& fields, std::string_view key, std::int64_t fallback) {
  if (key.empty() || fields.is_null(key)) return std::nullopt;
  if (!fields.has(key)) return fallback == 0 ? std::nullopt : std::optional(fallback);
  const auto window = fields.integer(key, {0, position_counts.highest});
  return window == 0 ? std::nullopt : std::optional(window);
}

// Files that name what each layer is need not count them.
std::int64_t read_layers(const config_fields& fields, const key_names& keys, std::int64_t fallback) {
  const bool is_other = !keys.layers_otherwise.empty() && !fields.has(keys.layers);
  const auto key = is_other ? keys.layers_otherwise : keys.layers;
  const auto pattern = fields.string("hybrid_override_pattern", "").size();
  const auto named = static_cast<std::int64_t>(std::max(fields.size("layers_block_type"), pattern));
  return read_size(fields, key, layer_counts, named == 0 ? fallback : named);
}

void read_shape(const config_fields& fields, const key_names& keys, const family_fields& family, model_config& config) {
  config.vocabulary = read_vocabulary(fields, keys, family.sizes.vocabulary);
  config.hidden = read_size(fields, keys.hidden, hidden_widths, family.sizes.hidden);
  config.layers = read_layers(fields, keys, family.sizes.layers);
  config.intermediate = read_intermediate(fields, keys.intermediate, family, config.hidden);
  config.max_positions = keys.max_positions.empty()
                             ? family.max_positions
                             : fields.integer(keys.max_positions, position_counts, family.max_positions);
  config.rms_norm_eps =
      keys.rms_norm_eps.empty() ? family.rms_norm_eps : fields.real(keys.rms_norm_eps, epsilons, family.rms_norm_eps);
  config.sliding_window = read_window(fields, keys.sliding_window, family.sliding_window);
  read_heads(fields, keys, family, config);
}

// Older files name some types otherwise.
std::string today_spelling(std::string type) {
  if (type == "attention") return "full_attention";
  if (type == "mamba") return "linear_attention";
  return type;
}

void read_layer_types(const config_fields& fields, std::string_view layers_key, model_config& config) {
  config.layer_types = fields.strings("layer_types");
  std::ranges::transform(config.layer_types, config.layer_types.begin(), today_spelling);
  const auto count = static_cast<std::int64_t>(config.layer_types.size());
  if (count != 0 && count != config.layers) {
    fields.refuse("layer_types", fmt::format("it must name {} = {} layers", layers_key, config.layers));
  }
}

integer_range token_ids(const model_config& config) { return {0, config.vocabulary - 1}; }

// Files name ids outside the vocabulary: -1 where there is none, or their family's. They are never sampled.
bool is_within(std::int64_t id, integer_range range) { return id >= range.lowest && id <= range.highest; }

std::optional<token> read_token(const config_fields& fields, std::string_view key, integer_range range,
                                std::int64_t fallback = -1) {
  if (fields.is_null(key)) return std::nullopt;
  const auto id = fields.integer(key, any_integer, fallback);
  return is_within(id, range) ? std::optional(static_cast<token>(id)) : std::nullopt;
}

std::vector<token> tokens_within(const std::vector<std::int64_t>& ids, integer_range range) {
  std::vector<token> within;
  for (const auto id : ids)
    if (is_within(id, range) && std::ranges::find(within, id) == within.end()) within.push_back(static_cast<token>(id));
  return within;
}

std::vector<token> read_end_tokens(const config_fields& fields, std::string_view key, integer_range range) {
  return tokens_within(fields.integers(key, any_integer), range);
}

std::vector<token> read_end_tokens(const config_fields& fields, integer_range range, const default_tokens& fallback) {
  constexpr std::string_view key = "eos_token_id";
  if (fields.has(key) || fields.is_null(key)) return read_end_tokens(fields, key, range);
  return tokens_within({fallback.eos, fallback.other_eos.front(), fallback.other_eos.back()}, range);
}

std::string read_activation(const config_fields& fields, const family_fields& family) {
  constexpr std::array<std::string_view, 8> known{"silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh",
                                                  "relu", "relu2", "xielu"};
  const auto key = family.keys.activation;
  auto name = fields.string(key, std::string(family.activation));
  if (std::ranges::find(known, name) == known.end()) {
    fields.refuse(key, fmt::format("'{}' are known", fmt::join(known, "', '")));
  }
  return name;
}

std::optional<token> read_decoder_start(const config_fields& fields, std::int64_t fallback, integer_range range) {
  if (fallback < 0) return std::nullopt;
  return static_cast<token>(fields.integer("decoder_start_token_id", range, fallback));
}

// max_positions counts the rows of the table.
void leave_out_unused_positions(const config_fields& fields, std::string_view key, model_config& config) {
  const auto unused = config.pad.value_or(1) + 1;
  if (config.max_positions <= unused)
    fields.refuse(key, fmt::format("positions begin at row {}, behind the padding token's", unused));
  config.max_positions -= unused;
}

void read_hugging_face(const config_fields& fields, model_config& config) {
  const auto& family = fields_of(config.family);
  read_shape(fields, family.keys, family, config);
  config.activation = read_activation(fields, family);
  config.attention_bias = read_flag(fields, "attention_bias", family.attention_bias);
  config.mlp_bias = read_flag(fields, "mlp_bias", family.mlp_bias);
  config.tie_embeddings = fields.boolean("tie_word_embeddings", family.tie_embeddings);
  if (family.rotary)
    config.rope = read_rope_config(fields, config,
                                   {.theta = family.rope_theta,
                                    .partial_factor = family.partial_rotary,
                                    .original_positions = family.original_positions});
  read_layer_types(fields, family.keys.layers, config);
  const auto& tokens = family.tokens;
  config.bos = read_token(fields, "bos_token_id", token_ids(config), tokens.bos);
  config.eos = read_end_tokens(fields, token_ids(config), tokens);
  config.pad = read_token(fields, "pad_token_id", token_ids(config), tokens.pad);
  if (family.first_position_follows_padding) leave_out_unused_positions(fields, family.keys.max_positions, config);
  config.decoder_start = read_decoder_start(fields, family.decoder_start_token, token_ids(config));
}

std::vector<token> gguf_end_tokens(const config_fields& fields, integer_range range) {
  std::vector<token> ends;
  for (const auto* key :
       {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    for (const auto id : read_end_tokens(fields, key, range))
      if (std::ranges::find(ends, id) == ends.end()) ends.push_back(id);
  }
  return ends;
}

void read_gguf(const config_fields& fields, model_config& config) {
  const auto& family = fields_of(config.family);
  auto keys = gguf_keys;
  if (family.keys.heads.empty()) keys.heads = "";
  if (family.keys.intermediate.empty()) keys.intermediate = "";
  if (family.decoder_start_token >= 0) {
    keys.layers = "decoder_block_count";
    keys.layers_otherwise = "block_count";
  }
  read_shape(fields, keys, {}, config);
  config.layers -= fields.integer("nextn_predict_layers", {0, config.layers - 1}, 0);
  if (family.keys.max_positions.empty()) config.max_positions = family.max_positions;
  config.activation = read_activation(fields, family);
  config.attention_bias = fields.boolean("attention_bias", false);
  config.mlp_bias = fields.boolean("mlp_bias", false);
  if (family.rotary) config.rope = read_gguf_rope_config(fields, config);
  read_layer_types(fields, gguf_keys.layers, config);
  config.bos = read_token(fields, "tokenizer.ggml.bos_token_id", token_ids(config));
  config.eos = gguf_end_tokens(fields, token_ids(config));
  config.pad = read_token(fields, "tokenizer.ggml.padding_token_id", token_ids(config));
  config.decoder_start = read_decoder_start(fields, family.decoder_start_token, token_ids(config));
}

}  // namespace

model_config read_model_config(const config_fields& fields) {
  model_config config;
  config.family = fields.family();
  fields.is_gguf() ? read_gguf(fields, config) : read_hugging_face(fields, config);
  return config;
}

void read_generation_config(const config_fields& fields, model_config& config) {
  if (fields.size("eos_token_id") > 0) config.eos = read_end_tokens(fields, "eos_token_id", token_ids(config));
}

}  // namespace cogen::load
