#pragma once

#include "network/models/model_spec.hpp"
#include "network/nn/network.hpp"

#include <memory>

namespace cogen {

struct load_options;

namespace device {
class backend;
}
namespace load {
class checkpoint;
struct model_config;
}  // namespace load
namespace parallel {
class rank_group;
}

namespace nn {

/// Reads a model to where a backend computes. Throws as load_model() does; what the backend refuses of a model, before
/// any weight is read.
std::unique_ptr<const network> read_network_on(std::shared_ptr<const device::backend> backend,
                                               const load::checkpoint& files, const models::model_spec& spec,
                                               const load::model_config& config, const load_options& options,
                                               const std::shared_ptr<parallel::rank_group>& ranks);

}  // namespace nn

}  // namespace cogen
