#include "network/backend/cuda/cuda_stream_handle.hpp"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <map>
#include <mutex>
#include <vector>

namespace cogen::device {

namespace {

/// The streams that nothing uses now, by device.
struct unused_streams {
  std::mutex mutex;
  std::map<c10::DeviceIndex, std::vector<cudaStream_t>> streams;
};

/// Never destroyed, because the driver may end before other static objects do.
unused_streams& unused() {
  static auto* const streams = new unused_streams;
  return *streams;
}

c10::cuda::CUDAStream take(c10::DeviceIndex device) {
  auto& [mutex, streams] = unused();
  const std::lock_guard lock(mutex);
  auto& of_device = streams[device];
  if (of_device.empty()) {
    const c10::cuda::CUDAGuard guard(device);
    cudaStream_t created = nullptr;
    of_device.reserve(of_device.capacity() + 1);
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking));
    return c10::cuda::getStreamFromExternal(created, device);
  }
  const auto found = c10::cuda::getStreamFromExternal(of_device.back(), device);
  of_device.pop_back();
  return found;
}

}  // namespace

cuda_stream_handle::cuda_stream_handle(int device) : stream_(take(static_cast<c10::DeviceIndex>(device))) {}

/// take() has reserved room for all streams that it made.
cuda_stream_handle::~cuda_stream_handle() {
  auto& [mutex, streams] = unused();
  const std::lock_guard lock(mutex);
  streams[stream_.device_index()].push_back(stream_.stream());
}

}  // namespace cogen::device
