#pragma once

#include "network/nn/network.hpp"

#include <memory>
#include <string_view>

namespace cogen {
struct load_options;
}
namespace cogen::load {
class checkpoint;
struct model_config;
}  // namespace cogen::load
namespace cogen::models {
struct model_spec;
}

namespace cogen::nn {

/// Reads a model's weights to the device that the options name, which is not the CPU. Throws std::invalid_argument for
/// a device that is unknown or missing, and as load_model() does.
using device_network_reader = std::unique_ptr<const network> (*)(const load::checkpoint& files,
                                                                 const models::model_spec& spec,
                                                                 const load::model_config& config,
                                                                 const load_options& options,
                                                                 const std::shared_ptr<parallel::rank_group>& ranks);

/// Called before main() by the library that has devices, cogen::torch.
void register_devices(device_network_reader reader) noexcept;

/// Throws std::invalid_argument, with what is missing, in a program that is linked without such a library.
device_network_reader registered_devices(std::string_view device);

}  // namespace cogen::nn
