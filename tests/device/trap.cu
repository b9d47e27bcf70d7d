#include "trap.hpp"

#include <cuda_runtime_api.h>

namespace cogen::test {

namespace {

__global__ void trap_kernel() { asm volatile("trap;"); }

}  // namespace

void trap(void* stream) { trap_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(); }

}  // namespace cogen::test
