#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>

namespace cogen::cache {

/// Memory of a device for one page of addresses. It may be mapped at several places, and goes back to the device with
/// its last owner.
using memory_page = std::shared_ptr<const void>;

/// A range of a device's addresses, reserved once, to which memory is mapped page by page. Addresses never change. One
/// that has no page must not be read or written. The pages are unmapped before the range ends.
///
/// Several threads may call members at once, for different pages.
class virtual_memory {
 public:
  virtual ~virtual_memory() = default;

  virtual std::int64_t page_bytes() const = 0;

  /// The whole range, [bytes] uint8: a view, valid as long as this object.
  virtual at::Tensor bytes() const = 0;

  /// Throws std::bad_alloc if the device has no memory left.
  virtual memory_page allocate() = 0;

  /// Maps pages to pages [first, first + pages.size()) of the range, which have none; their contents stay. Throws
  /// std::bad_alloc if the device refuses it, and the device's errors; then none is mapped.
  virtual void map(std::int64_t first, std::span<const memory_page> pages) = 0;

  /// Takes pages [first, first + count) away. All work on them has ended.
  virtual void unmap(std::int64_t first, std::int64_t count) noexcept = 0;
};

}  // namespace cogen::cache
