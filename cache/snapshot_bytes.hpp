#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace cogen::cache {

/// Takes large memory in huge pages where the system has them: writing it first takes half the time.
template <class T>
struct huge_page_allocator {
  using value_type = T;
  static constexpr std::size_t page = std::size_t{2} << 20;

  huge_page_allocator() = default;
  template <class Other>
  explicit huge_page_allocator(const huge_page_allocator<Other>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < page) return static_cast<T*>(::operator new(bytes));
    const std::size_t whole = (bytes + page - 1) / page * page;
    void* const data = std::aligned_alloc(page, whole);
    if (!data) throw std::bad_alloc();
    ::madvise(data, whole, MADV_HUGEPAGE);
    return static_cast<T*>(data);
  }
  void deallocate(T* data, std::size_t count) noexcept {
    count * sizeof(T) < page ? ::operator delete(data) : std::free(data);
  }

  bool operator==(const huge_page_allocator&) const = default;
};

using snapshot_bytes = std::vector<std::byte, huge_page_allocator<std::byte>>;

}  // namespace cogen::cache
