#include "network/kernels/weight_arena.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace cogen::kernels {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t alignment = 64;

std::size_t rounded_up(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

#if defined(__linux__)
std::shared_ptr<std::byte[]> zeroed(std::size_t bytes) {
  // What is mapped beyond both ends, to reach the next huge page's boundary, is never touched.
  const std::size_t mapped = bytes + huge_page;
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto unmap = [start, mapped](std::byte*) { munmap(start, mapped); };
  auto* aligned = reinterpret_cast<std::byte*>(rounded_up(reinterpret_cast<std::size_t>(start), huge_page));
  madvise(aligned, bytes, MADV_HUGEPAGE);
  return {aligned, unmap};
}
#else
std::shared_ptr<std::byte[]> zeroed(std::size_t bytes) {
  auto* data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{alignment}));
  std::memset(data, 0, bytes);
  return {data, [](std::byte* p) { ::operator delete(p, std::align_val_t{alignment}); }};
}
#endif

}  // namespace

std::shared_ptr<std::byte[]> weight_arena::take(std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const std::size_t wanted = rounded_up(bytes, alignment);
  if (wanted > size_ - used_) {
    size_ = rounded_up(wanted > chunk_ ? wanted : chunk_, alignment);
    used_ = 0;
    current_ = zeroed(size_);
  }
  std::byte* taken = current_.get() + used_;
  used_ += wanted;
  return {current_, taken};
}

}  // namespace cogen::kernels
