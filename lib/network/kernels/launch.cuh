#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

namespace cogen::kernels::cuda {

// Programmatic dependent launch (CUDA C++ Programming Guide): a kernel of a graph begins while the one before it ends.

/// In a kernel: waits until all earlier kernels have ended and can be seen. One that is launched so calls it in each
/// thread, before which it reads nothing that another kernel of the graph writes, and writes nothing at all. As every
/// such kernel waits, the end of one is the end of all before it.
__device__ inline void grid_dependency_synchronize() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// In a kernel: the next one may begin as soon as there is room for it, if it is launched so.
__device__ inline void trigger_launch_completion() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// In a kernel: the block's memory of launch_shape::shared_bytes.
template <class T>
__device__ T* shared_memory() {
#ifdef __CUDACC__
  extern __shared__ uint4 memory[];
  return reinterpret_cast<T*>(memory);
#else
  return reinterpret_cast<T*>(emulated_cuda::shared_memory());
#endif
}

struct launch_shape {
  dim3 grid;
  int threads = 0;
  std::size_t shared_bytes = 0;  // that the kernel does not name itself
  bool programmatic = false;     // it calls grid_dependency_synchronize(), and is launched early where that can be
};

inline void require_launched(const char* name, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // cleared, so that later calls do not report it
  throw std::runtime_error(std::string(name) + ": " + cudaGetErrorString(error));
}

/// Whether the device has such launches, and the stream is captured: what is not could follow what makes its weights.
inline bool has_programmatic_launch(const char* name, cudaStream_t stream) {
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
  cudaLaunchAttribute programmatic{};
  if (shape.programmatic && has_programmatic_launch(name, stream)) {
    programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    programmatic.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &programmatic;
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
