#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace cogen::device {

/// Memory of the host that CUDA copies from and to by itself. Taking it from the system takes long, so that what is
/// given back waits here for the next who wants as much. Any thread. What it gave out may outlive it.
class cuda_host_memory {
 public:
  cuda_host_memory();

  /// `bytes` bytes, uint8. Throws std::bad_alloc.
  at::Tensor take(std::size_t bytes);

 private:
  struct shelf;
  std::shared_ptr<shelf> shelf_;
};

}  // namespace cogen::device
