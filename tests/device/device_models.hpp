#pragma once

#include "device/place.hpp"

#include <cogen/model.hpp>

#include <memory>
#include <string>

namespace cogen::test {

/// A tiny golden model on a device, its weights in `type`.
std::shared_ptr<const model> golden_model_on(std::shared_ptr<const device::place> where, const std::string& name,
                                             at::ScalarType type = at::kFloat);

}  // namespace cogen::test
