#pragma once

#include "network/backend/backend.hpp"

#include <memory>

namespace cogen::bench {

/// The same device with LibTorch's operators in the place of cogen's own kernels: for steps whose rows are all of
/// sequences, and caches that are not quantized.
std::shared_ptr<const device::backend> with_library_operators(std::shared_ptr<const device::backend> base);

}  // namespace cogen::bench
