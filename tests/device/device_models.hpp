#pragma once

#include "network/backend/backend.hpp"
#include "network/nn/device/device_model.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cogen::test {

/// The network of a tiny golden model, its weights in `type`, and those of its projections in so many bits; or what one
/// of `ranks` has of it.
std::unique_ptr<const nn::device_model> golden_network_on(std::shared_ptr<const device::backend> where,
                                                          const std::string& name, at::ScalarType type = at::kFloat,
                                                          device_weights bits = device_weights::whole,
                                                          std::shared_ptr<device::collectives> ranks = nullptr);

/// The same as a model.
std::shared_ptr<const model> golden_model_on(std::shared_ptr<const device::backend> where, const std::string& name,
                                             at::ScalarType type = at::kFloat,
                                             device_weights bits = device_weights::whole);

/// A small Llama with random weights that bfloat16 holds, the same on every device; layers see a window, where it is
/// not 0. Its widths are such as devices like.
std::shared_ptr<const model> seeded_model_on(std::shared_ptr<const device::backend> where, at::ScalarType type,
                                             int window = 0, device_weights bits = device_weights::whole);

/// A scan with random weights, the same on every device.
device::selective_scan seeded_scan(const device::backend& where, at::ScalarType type, const models::mamba_spec& spec);

/// Each kind of recurrent mixer, and each way of the same kind.
std::vector<device::mixer> seeded_mixers(const device::backend& where);

}  // namespace cogen::test
