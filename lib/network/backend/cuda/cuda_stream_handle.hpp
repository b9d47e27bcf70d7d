#pragma once

#include <c10/cuda/CUDAStream.h>

namespace cogen::device {

/// A CUDA stream that nothing else uses: LibTorch's own pool gives each of its 32 streams to several users. It does not
/// wait for the default stream. Streams are reused and never destroyed, because LibTorch keeps a cuBLAS workspace for
/// each. Its work must have ended before it is destroyed.
class cuda_stream_handle {
 public:
  explicit cuda_stream_handle(int device);
  ~cuda_stream_handle();
  cuda_stream_handle(const cuda_stream_handle&) = delete;
  cuda_stream_handle& operator=(const cuda_stream_handle&) = delete;

  const c10::cuda::CUDAStream& get() const noexcept { return stream_; }

 private:
  const c10::cuda::CUDAStream stream_;
};

}  // namespace cogen::device
