#pragma once

#include "cuda_runtime_api.h"

#include <cstddef>
#include <cstring>
#include <functional>
#include <type_traits>

// A kernel's threads on the processor: each block runs by itself, its threads by turns, each until it waits for others.
// Which goes first changes from one launch to the next, so that a thread that does not wait where it has to shows in
// results that differ. What hardware leaves undefined is an error here: lanes of a warp that wait for different things,
// and a lane that is waited for and has ended.
namespace emulated_cuda {

inline constexpr std::size_t max_shared_bytes = 227 * std::size_t{1024};  // of a block, as on sm_90

struct launch_size {
  dim3 blocks;
  dim3 threads;
  std::size_t shared_bytes = 0;
};

/// Runs `kernel` for every thread of every block. Throws std::logic_error with the reason if threads wait for what
/// cannot come, and what `kernel` throws.
void run(const launch_size& size, const std::function<void()>& kernel);

// What follows is for a thread of a kernel.

struct position {
  dim3 thread;
  dim3 block;
  dim3 threads;  // of a block
  dim3 blocks;
};

extern position here;

/// Waits for all threads of the block that have not ended; whether `value` was true in any.
bool synchronize(bool value);

/// The block's memory of launch_size::shared_bytes, each byte 0xff at first.
std::byte* shared_memory();

/// As asynchronous copies to shared memory: done as late as they may be, in wait_for_copies(). Zeros where there is no
/// `source`.
void copy_later(std::byte* target, const void* source, std::size_t bytes);
void end_copies();
void wait_for_copies(std::size_t groups_left);

inline constexpr std::size_t lane_bytes = 64;

/// Waits for these lanes of the warp, and for `name` in each. Returns what they have brought, `lane_bytes` each, until
/// the caller's next gather().
const std::byte* gather(const char* name, unsigned lanes, const void* value, std::size_t bytes);

/// What the lanes of a warp have brought.
template <class T>
struct lane_values {
  const std::byte* bytes;
  int lane;  // the caller's

  const T& get(int other) const {
    return *reinterpret_cast<const T*>(bytes + static_cast<std::size_t>(other) * lane_bytes);
  }
};

template <class T>
lane_values<T> gather(const char* name, unsigned lanes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= lane_bytes);
  return {gather(name, lanes, &value, sizeof value), static_cast<int>(here.thread.x % 32)};
}

}  // namespace emulated_cuda
