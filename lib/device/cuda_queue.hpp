#pragma once

#include "device/queue.hpp"

#include <memory>

namespace cogen::device {

/// A CUDA stream of its own; recordings are CUDA graphs, which share one pool of memory.
std::unique_ptr<queue> make_cuda_queue(int device);

}  // namespace cogen::device
