#include "scheduler/no_memory.hpp"

#include <cstdlib>
#include <new>

namespace cogen::scheduler {
namespace {

constinit thread_local int refusing = 0;

}  // namespace

no_memory::no_memory() { ++refusing; }
no_memory::~no_memory() { --refusing; }

}  // namespace cogen::scheduler

void* operator new(std::size_t bytes) {
  void* const block = cogen::scheduler::refusing > 0 ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (!block) throw std::bad_alloc();
  return block;
}

void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
