#pragma once

#include "device/place.hpp"

#include <memory>

namespace cogen::device {

/// How many CUDA devices this machine has: 0 also where there is no driver.
int cuda_devices() noexcept;

/// Number `number` of them.
std::shared_ptr<const place> make_cuda_place(int number);

}  // namespace cogen::device
