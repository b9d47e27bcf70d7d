#pragma once

#include "network/weights/named_tensors.hpp"

#include <cogen/load_model.hpp>

namespace cogen::weights {

/// Calls `options.progress`, and throws load_aborted when it returns false. Nothing without a callback. `options`
/// outlives the result.
named_tensors::progress report_to(const load_options& options, const load::checkpoint& files);

}  // namespace cogen::weights
