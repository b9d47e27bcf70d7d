#pragma once

#include <cogen/cache/virtual_memory.hpp>

#include <cstdint>
#include <memory>

namespace cogen::device {

/// Bytes of a page; 0 if the device, or its driver, maps none.
std::int64_t cuda_page_bytes(int device);

/// Reserves addresses, a multiple of a page. `limit` bytes of pages are promised to it: unallocated_promises() counts
/// them until they are allocated. Throws std::runtime_error if the driver refuses.
std::unique_ptr<cache::virtual_memory> make_cuda_virtual_memory(int device, std::int64_t bytes, std::int64_t limit);

/// Bytes that ranges of this process may still allocate on the device.
std::int64_t unallocated_promises(int device);

}  // namespace cogen::device
