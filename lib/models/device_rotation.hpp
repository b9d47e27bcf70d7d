#pragma once

#include "device/operators.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>

namespace cogen::models {

/// The angles of positions up to 2^30, of which the first `positions` are looked up (32,768 at least, 262,144 at most),
/// and others made of two.
device::rotation make_rotation(const load::rope_config& rope, std::int64_t positions, at::Device device);

}  // namespace cogen::models
