// What must not recurse as deep as its input says runs on little stack, where that shows soon.
#pragma once

#include "repetitions.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <pthread.h>
#include <stdexcept>

namespace cogen::test {

/// Frames of checked code are large.
constexpr std::size_t small_stack_bytes = std::size_t{1} << (sanitized ? 22 : 20);

/// Runs `work` on a thread of its own, and throws what it throws.
inline void on_small_stack(const std::function<void()>& work) {
  struct call {
    const std::function<void()>& work;
    std::exception_ptr error = {};
  } job{work};
  const auto run = [](void* given) -> void* {
    auto& task = *static_cast<call*>(given);
    try {
      task.work();
    } catch (...) {
      task.error = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  const bool started = pthread_attr_init(&attributes) == 0 &&
                       pthread_attr_setstacksize(&attributes, small_stack_bytes) == 0 &&
                       pthread_create(&thread, &attributes, run, &job) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) throw std::runtime_error("a thread of little stack cannot be started");
  pthread_join(thread, nullptr);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace cogen::test
