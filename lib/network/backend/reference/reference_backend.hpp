#pragma once

#include "network/backend/backend.hpp"

namespace cogen::device {

/// "reference": LibTorch's operators in float32 on the processor, with the steps, caches and swaps of a device. It is
/// for comparison, and slow. Work has ended when the call that begins it returns.
std::shared_ptr<const backend> make_reference_backend();

}  // namespace cogen::device
