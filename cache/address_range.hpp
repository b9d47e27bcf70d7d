#pragma once

#include <cstddef>
#include <cstdint>

namespace cogen::cache {

/// Bytes of one page of memory.
std::int64_t page_bytes();

/// `bytes` rounded up to whole pages.
std::int64_t whole_pages(std::int64_t bytes);

/// `count` times `bytes`. Throws std::length_error if that exceeds 63 bits.
std::int64_t product(std::int64_t count, std::int64_t bytes);

/// A reserved range of addresses. Memory is committed to and released from whole pages; addresses do not change.
class address_range {
 public:
  /// Throws std::system_error, naming the bytes, if the system refuses that many addresses.
  explicit address_range(std::int64_t bytes);
  ~address_range();
  address_range(const address_range&) = delete;
  address_range& operator=(const address_range&) = delete;

  std::byte* data() const noexcept { return data_; }

  /// Makes [offset, offset + bytes) readable and writable: zeros, unless it was already. Both are multiples of a page.
  /// Throws std::system_error if memory is refused; then none of it is usable.
  void commit(std::int64_t offset, std::int64_t bytes);

  /// Returns the memory of [offset, offset + bytes) to the system.
  void release(std::int64_t offset, std::int64_t bytes) noexcept;

 private:
  std::int64_t bytes_;
  std::byte* data_;
};

}  // namespace cogen::cache
