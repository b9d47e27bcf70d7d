#pragma once

#include "load/config_fields.hpp"
#include "models/model_spec.hpp"

#include <cogen/load/model_config.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace cogen::models {

/// Describes a model of one family. `config` is common to all families; a family finds its own settings in `fields`.
/// Throws load::load_error, naming the key, for what does not fit.
using describe_model = std::function<model_spec(const load::config_fields& fields, const load::model_config& config)>;

/// The function of this family, for Hugging Face folders and GGUF files. Throws std::invalid_argument, naming it and
/// the known ones, for one that is not in the list.
describe_model family_named(std::string_view name);

std::vector<std::string_view> family_names();

/// What people call models of a family of the list.
std::string_view family_title(std::string_view name);

}  // namespace cogen::models
