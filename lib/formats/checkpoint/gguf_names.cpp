#include "formats/checkpoint/gguf_names.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace cogen::load {
namespace {

struct pair_of_names {
  std::string_view hugging_face;
  std::string_view gguf;
};

constexpr std::array outer_names{
    pair_of_names{"model.embed_tokens", "token_embd"},
    pair_of_names{"model.norm", "output_norm"},
    pair_of_names{"lm_head", "output"},
};

constexpr std::array layer_names{
    pair_of_names{"input_layernorm", "attn_norm"},    pair_of_names{"self_attn.q_proj", "attn_q"},
    pair_of_names{"self_attn.k_proj", "attn_k"},      pair_of_names{"self_attn.v_proj", "attn_v"},
    pair_of_names{"self_attn.o_proj", "attn_output"}, pair_of_names{"self_attn.q_norm", "attn_q_norm"},
    pair_of_names{"self_attn.k_norm", "attn_k_norm"}, pair_of_names{"post_attention_layernorm", "ffn_norm"},
    pair_of_names{"mlp.gate_proj", "ffn_gate"},       pair_of_names{"mlp.up_proj", "ffn_up"},
    pair_of_names{"mlp.down_proj", "ffn_down"},
};

using side = std::string_view pair_of_names::*;

struct spelling {
  side names;
  std::string_view layer_prefix;
};

constexpr spelling hugging_face{&pair_of_names::hugging_face, "model.layers."};
constexpr spelling gguf{&pair_of_names::gguf, "blk."};

// "model.layers.7.self_attn.q_proj.weight" is {layer "7", module "self_attn.q_proj", suffix ".weight"}.
struct name_parts {
  std::string_view layer;  // empty outside the layers
  std::string_view module;
  std::string_view suffix;
};

name_parts split(std::string_view name, const spelling& source) {
  name_parts parts;
  const auto suffix = std::min(name.rfind('.'), name.size());
  parts.suffix = name.substr(suffix);
  parts.module = name.substr(0, suffix);
  if (!parts.module.starts_with(source.layer_prefix)) return parts;
  const auto rest = parts.module.substr(source.layer_prefix.size());
  const auto dot = std::min(rest.find('.'), rest.size());
  parts.layer = rest.substr(0, dot);
  parts.module = rest.substr(std::min(dot + 1, rest.size()));
  return parts;
}

template <std::size_t Size>
std::optional<std::string_view> other_side(const std::array<pair_of_names, Size>& pairs, std::string_view module,
                                           side source, side target) {
  const auto* found = std::ranges::find(pairs, module, source);
  return found == pairs.end() ? std::nullopt : std::optional((*found).*target);
}

std::string translated(std::string_view name, const spelling& source, const spelling& target) {
  const auto parts = split(name, source);
  const auto module = parts.layer.empty() ? other_side(outer_names, parts.module, source.names, target.names)
                                          : other_side(layer_names, parts.module, source.names, target.names);
  if (!module) return std::string(name);
  std::string result;
  if (!parts.layer.empty()) result.append(target.layer_prefix).append(parts.layer).append(".");
  return result.append(*module).append(parts.suffix);
}

}  // namespace

std::string gguf_name(std::string_view name) { return translated(name, hugging_face, gguf); }
std::string hugging_face_name(std::string_view name) { return translated(name, gguf, hugging_face); }

gguf_rows rows_of(std::string_view name) {
  const auto module = split(name, gguf).module;
  if (module == "attn_q") return gguf_rows::queries;
  if (module == "attn_k") return gguf_rows::keys;
  if (module == "attn_qkv") return gguf_rows::queries_keys_values;
  return gguf_rows::others;
}

}  // namespace cogen::load
