#pragma once

#include <cstdint>

namespace cogen {

/// A token id as the model's vocabulary numbers it, from 0.
using token = std::int32_t;

}  // namespace cogen
