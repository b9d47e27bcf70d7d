#pragma once

#include "settings.hpp"

namespace throughput {

/// Says {"hello": ...} once this program runs and {"ready": ...} once the model is loaded, and then answers each line
/// that it reads with {"times": [[...], ...]}, in seconds, until there are no more.
void serve(const settings& wanted);

}  // namespace throughput
