#pragma once

#include <string_view>

namespace cogen::device {

/// Throws std::invalid_argument: CUDA devices do not compute such parts batch-invariantly.
[[noreturn]] void refuse_batch_invariance(std::string_view parts);

}  // namespace cogen::device
