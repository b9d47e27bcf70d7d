#include "allocation_watch.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> largest_request{0};

void note(std::size_t size) {
  auto known = largest_request.load(std::memory_order_relaxed);
  while (size > known && !largest_request.compare_exchange_weak(known, size, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  note(size);
  return std::malloc(size == 0 ? 1 : size);
}

void* operator new(std::size_t size) {
  if (auto* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

allocation_watch::allocation_watch() { largest_request.store(0, std::memory_order_relaxed); }

std::size_t allocation_watch::largest() const { return largest_request.load(std::memory_order_relaxed); }
