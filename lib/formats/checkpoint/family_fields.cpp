#include "formats/checkpoint/family_fields.hpp"

#include <algorithm>

namespace cogen::load {
namespace {

template <class Property>
const family_fields* first(std::string_view value, const Property& property) {
  const auto families = known_families();
  const auto found = std::ranges::find(families, value, [&](const family_fields* fields) { return property(*fields); });
  return found == families.end() ? nullptr : *found;
}

std::string_view name_of(const family_fields& fields) { return fields.family; }

}  // namespace

const family_fields& fields_of(std::string_view family) {
  static constexpr family_fields unknown{};
  const auto* found = first(family, name_of);
  return found == nullptr ? unknown : *found;
}

std::string_view family_of_architecture(std::string_view architecture) {
  if (architecture.empty()) return architecture;
  const auto* found = first(architecture, [](const family_fields& fields) { return fields.gguf.architecture; });
  if (found == nullptr) found = first(architecture, [](const family_fields& fields) { return fields.gguf.also; });
  return found == nullptr ? architecture : found->family;
}

bool stores_interleaved_heads(std::string_view family) { return fields_of(family).gguf.interleaved; }

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
