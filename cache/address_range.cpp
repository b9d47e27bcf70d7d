#include "address_range.hpp"

#include <cerrno>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace cogen::cache {
namespace {

[[noreturn]] void refuse(int error, const std::string& resource, std::int64_t bytes) {
  throw std::system_error(error, std::generic_category(),
                          "cache: the system refuses " + std::to_string(bytes) + " bytes of " + resource);
}

std::byte* map_without_memory(std::int64_t bytes) {
  void* data =
      ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) refuse(errno, "address space", bytes);
  return static_cast<std::byte*>(data);
}

}  // namespace

std::int64_t page_bytes() {
  static const std::int64_t bytes = ::sysconf(_SC_PAGESIZE);
  return bytes;
}

std::int64_t whole_pages(std::int64_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

std::int64_t product(std::int64_t count, std::int64_t bytes) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(count, bytes, &result))
    throw std::length_error("cache: " + std::to_string(count) + " times " + std::to_string(bytes) +
                            " bytes exceed every address space");
  return result;
}

address_range::address_range(std::int64_t bytes) : bytes_(bytes), data_(map_without_memory(bytes)) {
  ::madvise(data_, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
}

address_range::~address_range() { ::munmap(data_, static_cast<std::size_t>(bytes_)); }

// All pages at once: one page fault for each on first access takes several times as long.
void address_range::commit(std::int64_t offset, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  const bool usable = ::mprotect(data_ + offset, size, PROT_READ | PROT_WRITE) == 0;
  if (usable && (::madvise(data_ + offset, size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)) return;
  const int error = errno;
  release(offset, bytes);
  refuse(error, "memory", bytes);
}

void address_range::release(std::int64_t offset, std::int64_t bytes) noexcept {
  ::madvise(data_ + offset, static_cast<std::size_t>(bytes), MADV_DONTNEED);
  ::mprotect(data_ + offset, static_cast<std::size_t>(bytes), PROT_NONE);
}

}  // namespace cogen::cache
