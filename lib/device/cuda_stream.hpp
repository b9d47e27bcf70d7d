#pragma once

#include "device/stream.hpp"

#include <memory>

namespace cogen::device {

/// A CUDA stream of its own; its graphs are CUDA graphs, which share one pool of memory.
std::unique_ptr<stream> make_cuda_stream(int device);

}  // namespace cogen::device
