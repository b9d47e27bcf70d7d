#include "backend/cuda/cuda_host_memory.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <bit>
#include <cuda_runtime_api.h>
#include <new>

namespace cogen::device {

struct cuda_host_memory::shelf {
  std::mutex mutex;
  std::map<std::size_t, std::vector<void*>> free;  // by size

  /// Also after the device has failed, which other calls report: nothing is thrown here.
  ~shelf() {
    for (const auto& [size, all] : free)
      for (void* each : all) cudaFreeHost(each);
    cudaGetLastError();
  }

  void* take(std::size_t size) {
    {
      const std::lock_guard lock(mutex);
      auto& of_that_size = free[size];
      if (!of_that_size.empty()) {
        void* const found = of_that_size.back();
        of_that_size.pop_back();
        return found;
      }
    }
    void* made = nullptr;
    if (cudaHostAlloc(&made, size, cudaHostAllocDefault) == cudaSuccess) return made;
    cudaGetLastError();
    throw std::bad_alloc();
  }

  void give_back(void* memory, std::size_t size) noexcept try {
    const std::lock_guard lock(mutex);
    free[size].push_back(memory);
  } catch (...) {
    cudaFreeHost(memory);
  }
};

namespace {

/// Eight sizes to each power of two, so that similar sizes share memory with little waste.
std::size_t size_on_shelf(std::size_t bytes) {
  constexpr std::size_t least = 4096;
  const auto between = std::bit_floor(std::max(bytes, least)) / 8;
  return (std::max(bytes, least) + between - 1) / between * between;
}

}  // namespace

cuda_host_memory::cuda_host_memory() : shelf_(std::make_shared<shelf>()) {}

at::Tensor cuda_host_memory::take(std::size_t bytes) {
  const auto size = size_on_shelf(bytes);
  void* const memory = shelf_->take(size);
  return at::from_blob(
      memory, {static_cast<std::int64_t>(bytes)}, [shelf = shelf_, size](void* gone) { shelf->give_back(gone, size); },
      at::TensorOptions().dtype(at::kByte));
}

}  // namespace cogen::device
