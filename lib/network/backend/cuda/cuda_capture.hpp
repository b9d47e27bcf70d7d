#pragma once

#include "network/backend/stream.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace cogen::device {

/// Memory that graphs share: what is allocated while they are captured. It is given back when the last of them and of
/// its other owners is gone.
class graph_memory {
 public:
  explicit graph_memory(c10::DeviceIndex device);
  ~graph_memory();
  graph_memory(const graph_memory&) = delete;
  graph_memory& operator=(const graph_memory&) = delete;

  c10::DeviceIndex device() const noexcept { return device_; }
  c10::MempoolId_t id() const noexcept { return id_; }

 private:
  const c10::DeviceIndex device_;
  const c10::MempoolId_t id_;
};

/// Captures what `work` enqueues on `stream`, which is the current one and has no work. If `work` throws, the capture
/// ends and the stream and the allocator are as before. Holds allocation_mutex().
std::unique_ptr<graph> capture(const c10::cuda::CUDAStream& stream, std::shared_ptr<const graph_memory> memory,
                               const std::function<void()>& work);

/// While a graph is captured, LibTorch's allocator gives nothing back to the device, so an allocation may fail for want
/// of memory that is unused. Who allocates much holds this.
std::mutex& allocation_mutex();

/// Bytes that the allocator caches and would give back to the device before an allocation fails.
std::int64_t cached_bytes(c10::DeviceIndex device);

}  // namespace cogen::device
