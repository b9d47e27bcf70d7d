#pragma once

#include <cstddef>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

namespace cogen::kernels::cuda {

struct launch_shape {
  dim3 grid;
  int threads = 0;
  std::size_t shared_bytes = 0;  // that the kernel does not name itself
};

inline void require_launched(const char* name, cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // cleared, so that later calls do not report it
  throw std::runtime_error(std::string(name) + ": " + cudaGetErrorString(error));
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
  require_launched(name, cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, int threads, cudaStream_t stream,
            Arguments&&... arguments) {
  launch(name, kernel, launch_shape{grid, threads}, stream, arguments...);
}

}  // namespace cogen::kernels::cuda
