#pragma once

#include <cogen/cache/virtual_memory.hpp>

#include <cstdint>
#include <memory>

namespace cogen::device {

/// Virtual memory of the processor: pages are parts of a file in memory, so that several addresses can share one.
/// `bytes` is a multiple of `page_bytes`, and that of the system's pages. Throws std::system_error if the system
/// refuses the addresses.
std::unique_ptr<cache::virtual_memory> make_shared_pages(std::int64_t bytes, std::int64_t page_bytes);

}  // namespace cogen::device
