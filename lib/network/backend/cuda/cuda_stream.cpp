#include "network/backend/cuda/cuda_stream.hpp"

#include "network/backend/cuda/cuda_capture.hpp"
#include "network/backend/cuda/cuda_stream_handle.hpp"
#include "network/backend/pending_callbacks.hpp"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::device {

namespace {

using ending = pending_callbacks::callback;

/// Called on a driver's thread; unlike a host function, also after the device has failed.
void CUDART_CB call_back(cudaStream_t, cudaError_t status, void* data) {
  const std::unique_ptr<ending> done(static_cast<ending*>(data));
  if (status == cudaSuccess) return (*done)(nullptr);
  (*done)(std::make_exception_ptr(std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status))));
}

class cuda_stream final : public stream {
 public:
  explicit cuda_stream(int device) : for_work_(device), for_callbacks_(device) {}

  ~cuda_stream() override {
    cudaStreamSynchronize(stream_);  // its errors were reported, or will be
    pending_.wait();
  }

  void run_on_stream(const std::function<void()>& work) override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    work();
  }

  std::unique_ptr<graph> record(const std::function<void()>& work) override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    wait();
    if (!graph_memory_) graph_memory_ = std::make_shared<const graph_memory>(stream_.device_index());
    return capture(stream_, graph_memory_, work);
  }

  void then(ending done) override {
    const c10::cuda::CUDAStreamGuard guard(callbacks_);
    reached_.record(stream_);
    reached_.block(callbacks_);
    auto data = std::make_unique<ending>(pending_.add(std::move(done)));
    C10_CUDA_CHECK(cudaStreamAddCallback(callbacks_, call_back, data.get(), 0));
    static_cast<void>(data.release());
  }

  /// A device that has failed calls back, too.
  void wait() override {
    const auto ended = cudaStreamSynchronize(stream_);
    pending_.wait();
    C10_CUDA_CHECK(ended);
  }

  void after(stream& other) override {
    auto& predecessor = static_cast<cuda_stream&>(other);
    predecessor.reached_.record(predecessor.stream_);
    predecessor.reached_.block(stream_);
  }

  /// Row by row: between them there may be addresses without memory.
  void copy_rows(const at::Tensor& target, const at::Tensor& source) override {
    const c10::cuda::CUDAStreamGuard guard(stream_);
    const auto rows = source.size(0);
    const auto bytes = rows == 0 ? 0 : source.nbytes() / static_cast<std::size_t>(rows);
    if (bytes == 0) return;
    for (std::int64_t row = 0; row < rows; ++row)
      C10_CUDA_CHECK(cudaMemcpyAsync(target.select(0, row).mutable_data_ptr(), source.select(0, row).const_data_ptr(),
                                     bytes, cudaMemcpyDefault, stream_));
  }

 private:
  const cuda_stream_handle for_work_;
  const cuda_stream_handle for_callbacks_;  // a stream waits for its callbacks, so they have their own
  const c10::cuda::CUDAStream stream_ = for_work_.get();
  const c10::cuda::CUDAStream callbacks_ = for_callbacks_.get();
  pending_callbacks pending_;
  at::cuda::CUDAEvent reached_;  // a stream that waits for it waits for what it was last recorded behind
  std::shared_ptr<const graph_memory> graph_memory_;  // null: nothing was recorded
};

}  // namespace

std::unique_ptr<stream> make_cuda_stream(int device) { return std::make_unique<cuda_stream>(device); }

}  // namespace cogen::device
