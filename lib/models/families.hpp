#pragma once

#include "layers/weight_reader.hpp"
#include "models/device_network.hpp"
#include "models/device_weights.hpp"
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

/// The same on a device. Throws also std::invalid_argument for what devices do not know of the family.
using make_device_network = std::unique_ptr<const device_network> (*)(const load::model_config& config,
                                                                      device_weights& weights);

/// Throws like family_named(), also for a family that is known on the cpu alone.
make_device_network device_family_named(std::string_view name);

}  // namespace cogen::models
