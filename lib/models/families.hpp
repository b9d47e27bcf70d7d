#pragma once

#include "layers/weight_reader.hpp"
#include "load/config_fields.hpp"
#include "models/device_network.hpp"
#include "models/device_weights.hpp"
#include "models/network.hpp"

#include <cogen/load/model_config.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace cogen::models {

/// Builds a network from weights. `config` is common to all families; a family finds its own settings in `fields`.
/// Throws load::load_error, naming key or tensor, for what does not fit.
using make_network = std::unique_ptr<const network> (*)(const load::config_fields& fields,
                                                        const load::model_config& config,
                                                        layers::weight_reader& weights);

/// The function that makes a model of this family.
/// Throws std::invalid_argument, naming it and the known ones, for a family that is not in the list.
make_network family_named(std::string_view name);

/// The same on a device. Also throws std::invalid_argument for settings that devices do not support.
using make_device_network = std::unique_ptr<const device_network> (*)(const load::model_config& config,
                                                                      device_weights& weights);

/// Throws like family_named(), also for a family that runs on the CPU only.
make_device_network device_family_named(std::string_view name);

}  // namespace cogen::models
