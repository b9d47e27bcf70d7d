#include "network/backend/cuda/cuda_host_memory.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <new>

namespace cogen::device {

namespace {

/// Also after the device has failed, which other calls report: nothing is thrown here.
void free_pinned(void* memory) noexcept {
  if (cudaFreeHost(memory) != cudaSuccess) cudaGetLastError();
}

}  // namespace

at::Tensor pinned_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocDefault) != cudaSuccess) {
    cudaGetLastError();
    throw std::bad_alloc();
  }
  return at::from_blob(memory, {static_cast<std::int64_t>(bytes)}, free_pinned, at::TensorOptions().dtype(at::kByte));
}

}  // namespace cogen::device
