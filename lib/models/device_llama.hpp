#pragma once

#include "models/device_network.hpp"
#include "models/device_weights.hpp"

#include <cogen/load/model_config.hpp>

#include <memory>

namespace cogen::models {

/// The families of models/llama.hpp and models/mistral.hpp, on a device. Throw std::invalid_argument for an activation
/// that devices do not support, and what `weights` throws.
std::unique_ptr<const device_network> make_device_llama(const load::model_config& config, device_weights& weights);
std::unique_ptr<const device_network> make_device_mistral(const load::model_config& config, device_weights& weights);

}  // namespace cogen::models
