#pragma once

namespace cogen::test {

/// Begins a kernel that ends badly on a cudaStream_t: from then on the process has no use of the device.
void trap(void* stream);

}  // namespace cogen::test
