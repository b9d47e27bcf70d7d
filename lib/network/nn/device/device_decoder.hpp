#pragma once

#include "network/backend/collectives.hpp"
#include "network/backend/tensor_weights.hpp"
#include "network/models/model_spec.hpp"
#include "network/nn/device/device_network.hpp"

#include <cogen/load/model_config.hpp>

#include <memory>

namespace cogen::nn {

/// Reads the weights of a spec and runs it with a backend's operators; a rank's spec together with `ranks`. Throws
/// std::invalid_argument for parallel blocks of the same kind, whose results would lie in the same tensor; what
/// `weights` throws.
std::unique_ptr<const device_network> make_device_decoder(const models::model_spec& spec,
                                                          const load::model_config& config,
                                                          device::tensor_weights& weights,
                                                          std::shared_ptr<device::collectives> ranks = nullptr);

}  // namespace cogen::nn
