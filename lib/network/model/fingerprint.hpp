#pragma once

#include "network/models/model_spec.hpp"

#include <cogen/load/checkpoint.hpp>

#include <string>

namespace cogen::nn {

/// Differs between models: the configuration, and a checksum over all that the spec says, and names, types, shapes and
/// the ends of all weights. Reads little of them. Throws load::load_error.
std::string fingerprint_of(const load::checkpoint& files, const load::model_config& config,
                           const models::model_spec& spec);

}  // namespace cogen::nn
