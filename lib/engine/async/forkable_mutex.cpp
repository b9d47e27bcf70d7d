#include "engine/async/forkable_mutex.hpp"

#include <pthread.h>
#include <system_error>

namespace cogen::detail {
namespace {

std::atomic<unsigned> generation = 0;

bool count_forks() {
  const int failed = ::pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "pthread_atfork");
  return true;
}

}  // namespace

unsigned process_generation() {
  static const bool counted = count_forks();
  static_cast<void>(counted);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace cogen::detail
