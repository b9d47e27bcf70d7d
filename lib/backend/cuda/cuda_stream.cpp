#include "backend/cuda/cuda_stream.hpp"

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::device {

namespace {

class cuda_graph final : public graph {
 public:
  explicit cuda_graph(std::unique_ptr<at::cuda::CUDAGraph> graph) : graph_(std::move(graph)) {}

  void replay() override { graph_->replay(); }

 private:
  std::unique_ptr<at::cuda::CUDAGraph> graph_;
};

using ending = std::function<void(std::exception_ptr)>;

/// Called on a driver's thread; unlike a host function, also after the device has failed.
void CUDART_CB call_back(cudaStream_t, cudaError_t status, void* data) {
  const std::unique_ptr<ending> done(static_cast<ending*>(data));
  if (status == cudaSuccess) return (*done)(nullptr);
  (*done)(std::make_exception_ptr(std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status))));
}

class cuda_stream final : public stream {
 public:
  explicit cuda_stream(int device)
      : stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, static_cast<c10::DeviceIndex>(device))),
        callbacks_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, static_cast<c10::DeviceIndex>(device))) {}

  void run_on_stream(const std::function<void()>& work) override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    work();
  }

  std::unique_ptr<graph> record(const std::function<void()>& work) override {
    auto graph = std::make_unique<at::cuda::CUDAGraph>();
    const c10::cuda::CUDAStreamGuard guard(stream_);
    wait();
    graph->capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    work();
    graph->capture_end();
    return std::make_unique<cuda_graph>(std::move(graph));
  }

  void then(ending done) override {
    const c10::cuda::CUDAStreamGuard guard(callbacks_);
    reached_.record(stream_);
    reached_.block(callbacks_);
    auto data = std::make_unique<ending>(std::move(done));
    C10_CUDA_CHECK(cudaStreamAddCallback(callbacks_, call_back, data.get(), 0));
    static_cast<void>(data.release());
  }

  void wait() override {
    stream_.synchronize();
    callbacks_.synchronize();
  }

  void after(stream& other) override {
    at::cuda::CUDAEvent event;
    event.record(static_cast<cuda_stream&>(other).stream_);
    event.block(stream_);
  }

  void copy_rows(const at::Tensor& to, const at::Tensor& from) override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    const auto pitch = [](const at::Tensor& of) { return static_cast<std::size_t>(of.stride(0) * of.element_size()); };
    const auto rows = static_cast<std::size_t>(from.size(0));
    const auto bytes = rows == 0 ? 0 : from.nbytes() / rows;
    if (bytes == 0) return;
    C10_CUDA_CHECK(cudaMemcpy2DAsync(to.mutable_data_ptr(), pitch(to), from.const_data_ptr(), pitch(from), bytes, rows,
                                     cudaMemcpyDefault, stream_));
  }

 private:
  const c10::cuda::CUDAStream stream_;
  const c10::cuda::CUDAStream callbacks_;  // a stream waits for its callbacks, so they have their own
  at::cuda::CUDAEvent reached_;
  const at::cuda::MempoolId_t pool_ = at::cuda::graph_pool_handle();
};

}  // namespace

std::unique_ptr<stream> make_cuda_stream(int device) { return std::make_unique<cuda_stream>(device); }

}  // namespace cogen::device
