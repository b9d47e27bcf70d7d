#pragma once

#include "layers/weight_reader.hpp"
#include "models/network.hpp"

#include <cogen/load/config_fields.hpp>
#include <cogen/load/model_config.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cogen::models {

/// Builds a network out of weights. `config` is what every family has, `fields` where a family finds what is its own.
/// Throws load::load_error, naming key or tensor, for what does not fit.
using make_network = std::unique_ptr<const network> (*)(const load::config_fields& fields,
                                                        const load::model_config& config,
                                                        layers::weight_reader& weights);

/// The function that makes a model of this family.
/// Throws std::invalid_argument, naming it and the known ones, for a family that is not in the list.
make_network family_named(std::string_view name);

}  // namespace cogen::models
