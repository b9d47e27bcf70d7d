#include "scheduler/no_memory.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace cogen::scheduler {
namespace {

constexpr int unlimited = std::numeric_limits<int>::max();

constinit thread_local int left = unlimited;

bool allowed() { return left == unlimited || left-- > 0; }

}  // namespace

no_memory::no_memory(int allowed) { left = allowed; }
no_memory::~no_memory() { left = unlimited; }

}  // namespace cogen::scheduler

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return cogen::scheduler::allowed() ? std::malloc(bytes > 0 ? bytes : 1) : nullptr;
}

void* operator new(std::size_t bytes) {
  void* const block = operator new(bytes, std::nothrow);
  if (!block) throw std::bad_alloc();
  return block;
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
