#include "network/models/families.hpp"

#include "formats/json/printable.hpp"
#include "network/models/gguf_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace cogen::models {
namespace {

#define FAMILY(name) &(name),
constexpr std::array families{
#include "network/models/families.def"
};
#undef FAMILY

const family* find(std::string_view name) {
  const auto found = std::ranges::find(families, name, [](const family* entry) { return entry->fields.family; });
  return found == families.end() ? nullptr : *found;
}

const rope_spec* rotation_of(const block_spec& block) {
  if (const auto* attends = std::get_if<attention_spec>(&block.part)) return attends->rope ? &*attends->rope : nullptr;
  const auto* latent = std::get_if<latent_attention_spec>(&block.part);
  return latent == nullptr ? nullptr : &latent->rope;
}

/// Pairs of dimensions are rotated. Where nothing is, a head may be of any width.
void require_pairs(const load::config_fields& fields, const model_spec& spec) {
  for (const auto& block : spec.blocks) {
    const auto* const rope = rotation_of(block);
    if (rope == nullptr || (rope->config.rotary_dim >= 2 && rope->config.rotary_dim % 2 == 0)) continue;
    const auto& keys = load::fields_of(fields.family()).keys;
    const auto key = fields.is_gguf() ? "rope.dimension_count" : keys.head_dim.empty() ? keys.hidden : keys.head_dim;
    fields.refuse(key, fmt::format("{} dimensions of a head would be rotated; an even number from 2 is allowed",
                                   rope->config.rotary_dim));
  }
}

}  // namespace

describe_model family_named(std::string_view name) {
  if (const auto* found = find(name)) {
    return [found](const load::config_fields& fields, const load::model_config& config) {
      auto spec = found->describe(fields, config);
      require_pairs(fields, spec);
      return fields.is_gguf() ? as_gguf(std::move(spec), fields) : spec;
    };
  }
  throw std::invalid_argument(fmt::format("model family \"{}\" is not known; known are: {}", json::printable(name),
                                          fmt::join(family_names(), ", ")));
}

std::string_view family_title(std::string_view name) { return find(name)->title; }

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const auto* each : families) names.push_back(each->fields.family);
  std::ranges::sort(names);
  return names;
}

}  // namespace cogen::models

namespace cogen::load {

std::span<const family_fields* const> known_families() {
#define FAMILY(name) &models::name.fields,
  static constexpr std::array fields{
#include "network/models/families.def"
  };
#undef FAMILY
  return fields;
}

}  // namespace cogen::load
