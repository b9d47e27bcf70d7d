#include "network/backend/cuda/cuda_virtual_memory.hpp"

#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAGuard.h>

#include <array>
#include <atomic>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::device {

namespace {

/// The driver's functions, found at run time: the program also starts without a driver. The versions are those of
/// CUDA 10.2, which introduced them.
struct driver {
  PFN_cuDeviceGetAttribute_v2000 attribute = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 free = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  bool complete = false;

  driver() {
    complete = find("cuDeviceGetAttribute", attribute) && find("cuMemGetAllocationGranularity", granularity) &&
               find("cuMemAddressReserve", reserve) && find("cuMemAddressFree", free) && find("cuMemCreate", create) &&
               find("cuMemRelease", release) && find("cuMemMap", map) && find("cuMemUnmap", unmap) &&
               find("cuMemSetAccess", set_access);
  }

 private:
  template <class Function>
  static bool find(const char* name, Function*& function) {
    constexpr unsigned version = 10020;
    void* found = nullptr;
    auto result = cudaDriverEntryPointSymbolNotFound;
    if (cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result) != cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    function = reinterpret_cast<Function*>(found);
    return result == cudaDriverEntryPointSuccess && found != nullptr;
  }
};

const driver& the_driver() {
  static const driver instance;
  return instance;
}

/// Throws std::bad_alloc where memory is refused.
void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();
  throw std::runtime_error(std::string("CUDA: ") + call + " failed with error " +
                           std::to_string(static_cast<int>(result)));
}

CUmemLocation location_of(int device) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

CUmemAllocationProp properties_of(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location_of(device);
  return properties;
}

/// Bytes promised and not yet allocated, by device.
std::atomic<std::int64_t>& promises_of(int device) {
  constexpr std::size_t max_devices = 64;
  static std::array<std::atomic<std::int64_t>, max_devices> promises{};
  return promises.at(static_cast<std::size_t>(device));
}

/// What one range may still allocate, as long as the range or a page of it exists.
class promise {
 public:
  promise(int device, std::int64_t bytes) : device_(device), left_(bytes) { promises_of(device) += bytes; }
  ~promise() { promises_of(device_) -= left_; }
  promise(const promise&) = delete;
  promise& operator=(const promise&) = delete;

  int device() const noexcept { return device_; }
  void change(std::int64_t bytes) noexcept {
    left_ += bytes;
    promises_of(device_) += bytes;
  }

 private:
  const int device_;
  std::atomic<std::int64_t> left_;
};

/// Physical memory, which the driver frees once it is mapped nowhere.
class physical_page {
 public:
  physical_page(std::shared_ptr<promise> promised, std::int64_t bytes) : promise_(std::move(promised)), bytes_(bytes) {
    const auto properties = properties_of(promise_->device());
    check(the_driver().create(&handle_, static_cast<std::size_t>(bytes), &properties, 0), "cuMemCreate");
    promise_->change(-bytes);
  }
  ~physical_page() {
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(promise_->device()));
    the_driver().release(handle_);
    promise_->change(bytes_);
  }
  physical_page(const physical_page&) = delete;
  physical_page& operator=(const physical_page&) = delete;

  CUmemGenericAllocationHandle handle() const noexcept { return handle_; }

 private:
  const std::shared_ptr<promise> promise_;
  const std::int64_t bytes_;
  CUmemGenericAllocationHandle handle_ = 0;
};

class cuda_virtual_memory final : public cache::virtual_memory {
 public:
  cuda_virtual_memory(int device, std::int64_t bytes, std::int64_t limit)
      : device_(static_cast<c10::DeviceIndex>(device)),
        page_bytes_(cuda_page_bytes(device)),
        bytes_(bytes),
        promise_(std::make_shared<promise>(device, limit)) {
    const c10::cuda::CUDAGuard guard(device_);
    if (the_driver().reserve(&first_, static_cast<std::size_t>(bytes), 0, 0, 0) != CUDA_SUCCESS)
      throw std::runtime_error("CUDA: the driver refuses " + std::to_string(bytes) + " bytes of address space");
  }
  ~cuda_virtual_memory() override {
    const c10::cuda::CUDAGuard guard(device_);
    the_driver().free(first_, static_cast<std::size_t>(bytes_));
  }
  cuda_virtual_memory(const cuda_virtual_memory&) = delete;
  cuda_virtual_memory& operator=(const cuda_virtual_memory&) = delete;

  std::int64_t page_bytes() const override { return page_bytes_; }

  /// The device is named, as the runtime does not know addresses without memory.
  at::Tensor bytes() const override {
    const at::Device device(at::kCUDA, device_);
    return at::for_blob(reinterpret_cast<void*>(first_), {bytes_})
        .options(at::TensorOptions(device).dtype(at::kByte))
        .target_device(device)
        .make_tensor();
  }

  cache::memory_page allocate() override {
    const c10::cuda::CUDAGuard guard(device_);
    return std::make_shared<const physical_page>(promise_, page_bytes_);
  }

  /// Access is set for all of them at once, which takes longer than mapping them.
  void map(std::int64_t first, std::span<const cache::memory_page> pages) override {
    const c10::cuda::CUDAGuard guard(device_);
    const auto size = static_cast<std::size_t>(page_bytes_);
    std::int64_t mapped = 0;
    try {
      for (const auto& page : pages) {
        const auto handle = static_cast<const physical_page*>(page.get())->handle();
        check(the_driver().map(address(first + mapped), size, 0, handle, 0), "cuMemMap");
        ++mapped;
      }
      CUmemAccessDesc access{};
      access.location = location_of(device_);
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      check(the_driver().set_access(address(first), size * pages.size(), &access, 1), "cuMemSetAccess");
    } catch (...) {
      unmap(first, mapped);
      throw;
    }
  }

  /// After an error of the device nothing can be unmapped; others have reported it.
  void unmap(std::int64_t first, std::int64_t count) noexcept override {
    const c10::cuda::CUDAGuard guard(device_);
    for (std::int64_t page = first; page < first + count; ++page)
      the_driver().unmap(address(page), static_cast<std::size_t>(page_bytes_));
  }

 private:
  CUdeviceptr address(std::int64_t page) const noexcept {
    return first_ + static_cast<CUdeviceptr>(page * page_bytes_);
  }

  const c10::DeviceIndex device_;
  const std::int64_t page_bytes_;
  const std::int64_t bytes_;
  const std::shared_ptr<promise> promise_;
  CUdeviceptr first_ = 0;
};

}  // namespace

std::int64_t cuda_page_bytes(int device) {
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  const auto& driver = the_driver();
  int supported = 0;
  if (!driver.complete ||
      driver.attribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) != CUDA_SUCCESS ||
      supported == 0)
    return 0;
  const auto properties = properties_of(device);
  std::size_t bytes = 0;
  if (driver.granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS) return 0;
  return static_cast<std::int64_t>(bytes);
}

std::unique_ptr<cache::virtual_memory> make_cuda_virtual_memory(int device, std::int64_t bytes, std::int64_t limit) {
  return std::make_unique<cuda_virtual_memory>(device, bytes, limit);
}

std::int64_t unallocated_promises(int device) { return promises_of(device); }

}  // namespace cogen::device
