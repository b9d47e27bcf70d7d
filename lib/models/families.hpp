#pragma once

#include "layers/weight_reader.hpp"
#include "models/network.hpp"

#include <cogen/load/model_config.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cogen::models {

using make_network = std::unique_ptr<const network> (*)(const load::model_config& config,
                                                        layers::weight_reader& weights);

/// The function that makes a model of this family.
/// Throws std::invalid_argument, naming it and the known ones, for a family that is not in the list.
make_network family_named(std::string_view name);

}  // namespace cogen::models
