#pragma once

#include "network/backend/backend.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::bench {

/// The names of the shapes that random_model() knows.
std::vector<std::string_view> shape_names();

/// A Llama of a published shape with random weights on a device. It reads token ids only, and what it says means
/// nothing. Throws std::invalid_argument for an unknown shape.
std::shared_ptr<const model> random_model(std::shared_ptr<const device::backend> where, std::string_view shape,
                                          device_weights bits);

}  // namespace cogen::bench
