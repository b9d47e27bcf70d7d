#include "failing_memory.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

// What glibc's allocator is called by those who stand in front of it.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" void* __libc_malloc(std::size_t bytes);
extern "C" void* __libc_calloc(std::size_t count, std::size_t bytes);
extern "C" void* __libc_realloc(void* block, std::size_t bytes);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t bytes);
extern "C" void __libc_free(void* block);
// NOLINTEND(readability-identifier-naming)

namespace cogen::test::failing_memory {
namespace {

constexpr long never = -1;
constinit thread_local long left = never;
constinit thread_local bool refused = false;
constinit std::atomic<long> held = 0;
constinit std::atomic<long> allocated = 0;

bool refuses() {
  ++allocated;
  if (left == never || left-- > 0) return false;
  refused = true;
  errno = ENOMEM;
  return true;
}

void* counted(void* block) {
  if (block) ++held;
  return block;
}

}  // namespace

void refuse(long n) {
  refused = false;
  left = n;
}

bool relent() {
  left = never;
  return refused;
}

long blocks() { return held.load(); }

long allocations() { return allocated.load(); }

}  // namespace cogen::test::failing_memory

namespace memory = cogen::test::failing_memory;

extern "C" void* malloc(std::size_t bytes) {
  return memory::refuses() ? nullptr : memory::counted(__libc_malloc(bytes));
}

extern "C" void* calloc(std::size_t count, std::size_t bytes) {
  return memory::refuses() ? nullptr : memory::counted(__libc_calloc(count, bytes));
}

extern "C" void* realloc(void* block, std::size_t bytes) {
  if (memory::refuses()) return nullptr;
  return block ? __libc_realloc(block, bytes) : memory::counted(__libc_malloc(bytes));
}

extern "C" void* memalign(std::size_t alignment, std::size_t bytes) {
  return memory::refuses() ? nullptr : memory::counted(__libc_memalign(alignment, bytes));
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }

extern "C" int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}

extern "C" void free(void* block) {
  if (block) --memory::held;
  __libc_free(block);
}
