#pragma once

#include "network/backend/backend.hpp"

#include <memory>

namespace cogen::device {

/// The number of CUDA devices of this machine; 0 without a driver, too.
int cuda_devices() noexcept;

/// The backend of CUDA device `number`.
std::shared_ptr<const backend> make_cuda_backend(int number, const backend_switches& switches = {});

}  // namespace cogen::device
