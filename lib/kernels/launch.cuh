#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

namespace cogen::kernels::cuda {

/// Recorded kernels that allow it begin while those before them end (CUDA C++ Programming Guide, "Programmatic
/// Dependent Launch").
inline constexpr bool early_launches = true;

/// Waits until all earlier work on the stream has ended and can be seen. A kernel that is launched early calls it in
/// each thread, before which it reads nothing that another kernel of the recording writes, and writes nothing at all.
/// As every such kernel waits, the end of one is the end of all before it.
__device__ inline void wait_for_earlier_kernels() {
#if __CUDA_ARCH__ >= 900
  if constexpr (early_launches) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Lets the next kernel begin as soon as there is room for it, if it is launched early.
__device__ inline void allow_later_kernels() {
#if __CUDA_ARCH__ >= 900
  if constexpr (early_launches) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct launch_shape {
  dim3 grid;
  int threads = 0;
  std::size_t shared_bytes = 0;  // that the kernel does not name itself
  bool early = false;            // the kernel calls wait_for_earlier_kernels(); see there
};

inline void require_launched(const char* name, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that nobody else is blamed for it
  throw std::runtime_error(std::string(name) + ": " + cudaGetErrorString(error));
}

/// Whether what is launched now is recorded, for a device that can begin it early. What is not recorded could follow
/// those who make its weights.
inline bool may_begin_early(const char* name, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  require_launched(name, cudaStreamIsCapturing(stream, &status));
  if (status != cudaStreamCaptureStatusActive) return false;
  int device = 0, generation = 0;
  require_launched(name, cudaGetDevice(&device));
  require_launched(name, cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device));
  return generation >= 9;
}

/// Enqueues the kernel. Throws std::runtime_error, with the kernel's name, if it cannot be launched.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const launch_shape& shape, cudaStream_t stream,
            Arguments&&... arguments) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute early{};
  if (early_launches && shape.early && may_begin_early(name, stream)) {
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = 1;
  }
  require_launched(name, cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, int threads, cudaStream_t stream,
            Arguments&&... arguments) {
  launch(name, kernel, launch_shape{grid, threads}, stream, arguments...);
}

}  // namespace cogen::kernels::cuda
