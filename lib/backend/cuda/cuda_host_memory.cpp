#include "backend/cuda/cuda_host_memory.hpp"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <bit>
#include <cuda_runtime_api.h>
#include <new>

namespace cogen::device {

struct cuda_host_memory::shelf {
  /// All of a size. There is room in `free` for every one that was made.
  struct of_one_size {
    std::vector<void*> free;
    std::size_t made = 0;
  };

  std::mutex mutex;
  std::map<std::size_t, of_one_size> all;

  /// Also after the device has failed, which other calls report: nothing is thrown here.
  ~shelf() {
    for (const auto& [size, some] : all)
      for (void* each : some.free) cudaFreeHost(each);
    cudaGetLastError();
  }

  void* take(std::size_t size) {
    {
      const std::lock_guard lock(mutex);
      auto& some = all[size];
      if (!some.free.empty()) {
        void* const found = some.free.back();
        some.free.pop_back();
        return found;
      }
      some.free.reserve(some.made + 1);
      ++some.made;
    }
    void* made = nullptr;
    if (cudaHostAlloc(&made, size, cudaHostAllocDefault) == cudaSuccess) return made;
    cudaGetLastError();
    throw std::bad_alloc();
  }

  /// Calls nothing of CUDA, as it may be called from a stream's callback.
  void give_back(void* memory, std::size_t size) noexcept {
    const std::lock_guard lock(mutex);
    all.find(size)->second.free.push_back(memory);
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
