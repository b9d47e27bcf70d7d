#pragma once

#include "models/model_spec.hpp"

namespace cogen::nn {

/// Throws std::invalid_argument, naming the first one, if the spec has parts that devices do not run.
void refuse_what_devices_lack(const models::model_spec& spec);

}  // namespace cogen::nn
