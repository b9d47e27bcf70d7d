#pragma once

#include "measurement.hpp"

namespace pressure {

/// What is left of the speed where conversations share memory for a few of them. Fails where a token differs from what
/// is said alone.
void run_conversations(const model_pointer& model, const settings& wanted);

}  // namespace pressure
