#pragma once

#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

namespace cogen::kernels::cuda {

/// Enqueues the kernel. Throws std::runtime_error, with the kernel's name, if it cannot be launched.
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, int threads, cudaStream_t stream,
            Arguments&&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that nobody else is blamed for it
  throw std::runtime_error(std::string(name) + ": " + cudaGetErrorString(error));
}

}  // namespace cogen::kernels::cuda
