#pragma once

#include "network/backend/operators.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>

namespace cogen::device {

/// The angles of positions up to 2^30. The first `positions` (32,768 at least, 262,144 at most) are in a table; others
/// combine two.
/// `room` is what a slot can hold: see cpu::frequencies().
device::rotation make_rotation(const load::rope_config& rope, std::int64_t positions, at::Device device,
                               std::int64_t room = 0);

}  // namespace cogen::device
