#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace cogen::device {

/// Pools pinned host memory, because allocating it takes long: what is returned is kept for the next request of the
/// same size. Thread-safe. Tensors may outlive the pool.
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
