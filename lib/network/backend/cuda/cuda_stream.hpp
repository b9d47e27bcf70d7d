#pragma once

#include "network/backend/stream.hpp"

#include <memory>

namespace cogen::device {

/// A new CUDA stream; its graphs are CUDA graphs, which share one memory pool.
std::unique_ptr<stream> make_cuda_stream(int device);

}  // namespace cogen::device
