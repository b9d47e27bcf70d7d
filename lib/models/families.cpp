#include "models/families.hpp"

#include "models/gguf_spec.hpp"

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
#include "models/families.def"
};
#undef FAMILY

const family* find(std::string_view name) {
  const auto found = std::ranges::find(families, name, [](const family* each) { return each->fields.family; });
  return found == families.end() ? nullptr : *found;
}

}  // namespace

describe_model family_named(std::string_view name) {
  if (const auto* found = find(name)) {
    return [found](const load::config_fields& fields, const load::model_config& config) {
      auto spec = found->describe(fields, config);
      return fields.is_gguf() ? as_gguf(std::move(spec), fields) : spec;
    };
  }
  throw std::invalid_argument(
      fmt::format("model family \"{}\" is not known; known are: {}", name, fmt::join(family_names(), ", ")));
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
#include "models/families.def"
  };
#undef FAMILY
  return fields;
}

}  // namespace cogen::load
