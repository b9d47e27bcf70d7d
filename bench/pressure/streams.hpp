#pragma once

#include "measurement.hpp"

namespace pressure {

/// What an unread stream costs the others. Fails where a token differs from what is said alone.
void run_streams(const model_pointer& model, const settings& wanted);

}  // namespace pressure
