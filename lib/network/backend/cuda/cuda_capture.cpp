#include "network/backend/cuda/cuda_capture.hpp"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>

#include <set>
#include <type_traits>
#include <utility>

namespace cogen::device {

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

/// The memory of graphs that exist.
struct used_memory {
  std::mutex mutex;
  std::set<c10::MempoolId_t> ids;
};

used_memory& used() {
  static auto* const memory = new used_memory;
  return *memory;
}

/// What this thread allocates on `stream` is of `memory`.
class allocating_to {
 public:
  allocating_to(const graph_memory& memory, cudaStream_t stream) : memory_(memory) {
    allocator::beginAllocateToPool(memory.device(), memory.id(),
                                   [stream](cudaStream_t other) { return other == stream; });
  }
  ~allocating_to() {
    allocator::endAllocateToPool(memory_.device(), memory_.id());
    allocator::releasePool(memory_.device(), memory_.id());  // its beginning has counted as an owner
  }
  allocating_to(const allocating_to&) = delete;
  allocating_to& operator=(const allocating_to&) = delete;

 private:
  const graph_memory& memory_;
};

struct graph_deleter {
  void operator()(cudaGraph_t graph) const noexcept { cudaGraphDestroy(graph); }
};
using owned_graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, graph_deleter>;

/// A stream that captures instead of running, until end() or its own end.
class capturing {
 public:
  explicit capturing(cudaStream_t stream) : stream_(stream) {
    C10_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  }
  ~capturing() {
    if (ended_) return;
    cudaGraph_t graph = nullptr;
    const auto ended = cudaStreamEndCapture(stream_, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (ended != cudaSuccess) cudaGetLastError();  // what broke the capture has been thrown
  }
  capturing(const capturing&) = delete;
  capturing& operator=(const capturing&) = delete;

  owned_graph end() {
    cudaGraph_t graph = nullptr;
    ended_ = true;
    C10_CUDA_CHECK(cudaStreamEndCapture(stream_, &graph));
    return owned_graph(graph);
  }

 private:
  const cudaStream_t stream_;
  bool ended_ = false;
};

class cuda_graph final : public graph {
 public:
  cuda_graph(std::shared_ptr<const graph_memory> memory, const owned_graph& captured) : memory_(std::move(memory)) {
    C10_CUDA_CHECK(cudaGraphInstantiate(&ready_, captured.get(), 0));
  }
  ~cuda_graph() override { cudaGraphExecDestroy(ready_); }
  cuda_graph(const cuda_graph&) = delete;
  cuda_graph& operator=(const cuda_graph&) = delete;

  void replay() override { C10_CUDA_CHECK(cudaGraphLaunch(ready_, c10::cuda::getCurrentCUDAStream())); }

 private:
  const std::shared_ptr<const graph_memory> memory_;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace

graph_memory::graph_memory(c10::DeviceIndex device) : device_(device), id_(at::cuda::graph_pool_handle()) {
  auto& [mutex, ids] = used();
  const std::lock_guard lock(mutex);
  ids.insert(id_);
  allocator::createOrIncrefPool(device_, id_);
}

graph_memory::~graph_memory() {
  allocator::releasePool(device_, id_);
  auto& [mutex, ids] = used();
  const std::lock_guard lock(mutex);
  ids.erase(id_);
}

std::unique_ptr<graph> capture(const c10::cuda::CUDAStream& stream, std::shared_ptr<const graph_memory> memory,
                               const std::function<void()>& work) {
  const std::lock_guard lock(allocation_mutex());
  const allocating_to scope(*memory, stream);
  capturing recording(stream);
  work();
  return std::make_unique<cuda_graph>(std::move(memory), recording.end());
}

std::mutex& allocation_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::int64_t cached_bytes(c10::DeviceIndex device) {
  const auto segments = allocator::snapshot({0, 0}, /*include_traces=*/false).segments;
  auto& [mutex, ids] = used();
  const std::lock_guard lock(mutex);
  std::int64_t bytes = 0;
  for (const auto& each : segments)
    if (each.device == device && each.active_size == 0 && !ids.contains(each.owner_private_pool_id))
      bytes += static_cast<std::int64_t>(each.total_size);
  return bytes;
}

}  // namespace cogen::device
