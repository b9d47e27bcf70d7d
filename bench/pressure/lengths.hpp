#pragma once

#include "measurement.hpp"

namespace pressure {

/// What it brings to set memory aside as requests grow, where they end far below what they may come to. Fails where a
/// token differs from what is said alone.
void run_lengths(const model_pointer& model, const settings& wanted);

}  // namespace pressure
