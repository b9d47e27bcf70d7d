#pragma once

#include "device/backend.hpp"

#include <memory>

namespace cogen::device {

/// How many CUDA devices this machine has: 0 also where there is no driver.
int cuda_devices() noexcept;

/// Number `number` of them.
std::shared_ptr<const backend> make_cuda_backend(int number);

}  // namespace cogen::device
