#pragma once

#include "settings.hpp"

#include <cogen/model.hpp>

#include <memory>

namespace cogen::bench {

/// Has requests decode together, and prints how fast, beside the same step replayed without an engine and the share of
/// `bandwidth`, copy_bandwidth(), that the bytes it reads come to.
void measure_decoding(const std::shared_ptr<const model>& lm, const cell& point, const settings& wanted,
                      double bandwidth);

}  // namespace cogen::bench
