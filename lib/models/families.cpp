#include "models/families.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <stdexcept>

namespace cogen::models {

// One file each, which cites the model's paper or its implementation.
model_spec bart(const load::config_fields& fields, const load::model_config& config);
model_spec gemma3(const load::config_fields& fields, const load::model_config& config);
model_spec jamba(const load::config_fields& fields, const load::model_config& config);
model_spec llama(const load::config_fields& fields, const load::model_config& config);
model_spec mamba(const load::config_fields& fields, const load::model_config& config);
model_spec mistral(const load::config_fields& fields, const load::model_config& config);

namespace {

struct family {
  std::string_view name;
  describe_model describe;
};

constexpr std::array families{
    family{"bart", bart},   family{"gemma3_text", gemma3}, family{"jamba", jamba},
    family{"llama", llama}, family{"mamba", mamba},        family{"mistral", mistral},
};

}  // namespace

describe_model family_named(std::string_view name) {
  const auto found = std::ranges::find(families, name, &family::name);
  if (found != families.end()) return found->describe;
  throw std::invalid_argument(
      fmt::format("model family \"{}\" is not known; known are: {}", name, fmt::join(family_names(), ", ")));
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const auto& each : families) names.push_back(each.name);
  return names;
}

}  // namespace cogen::models
