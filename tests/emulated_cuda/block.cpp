#include "block.hpp"

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace emulated_cuda {

position here;

namespace {

constexpr std::size_t warp_lanes = 32;

boost::context::pooled_fixedsize_stack stacks(std::size_t{64} << 10);

struct copy {
  std::byte* target;
  const void* source;
  std::size_t bytes;
  std::size_t group;
};

struct thread_state {
  dim3 index;
  boost::context::fiber fiber;
  const char* waits_at = nullptr;
  unsigned waits_for = 0;  // lanes
  bool ended = false;
  std::vector<copy> copies;  // not done yet
  std::size_t groups = 0;
};

struct warp_state {
  alignas(lane_bytes) std::array<std::byte, warp_lanes * lane_bytes> brought;
  alignas(lane_bytes) std::array<std::byte, warp_lanes * lane_bytes> gathered;
  int waiting = 0;  // lanes, in gather()
};

alignas(lane_bytes) std::array<std::byte, max_shared_bytes> shared;

/// One block, from its first thread's begin to its last one's end.
class block_run {
 public:
  block_run(const launch_size& size, const std::function<void()>& kernel, bool backwards)
      : kernel_(kernel),
        threads_(std::size_t{size.threads.x} * size.threads.y * size.threads.z),
        warps_((threads_.size() + warp_lanes - 1) / warp_lanes),
        left_(threads_.size()) {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      const auto index = static_cast<unsigned>(i);
      threads_[i].index = {index % size.threads.x, index / size.threads.x % size.threads.y,
                           index / size.threads.x / size.threads.y};
      ready_.push_back(i);
    }
    if (backwards) std::reverse(ready_.begin(), ready_.end());
  }

  void run() {
    while (!ready_.empty()) {
      current_ = ready_.front();
      ready_.pop_front();
      resume(threads_[current_]);
      if (failed_) std::rethrow_exception(failed_);
    }
    if (left_ > 0) throw std::logic_error("a kernel's threads wait for ever: " + who_waits());
  }

  bool synchronize(bool value) {
    any_ |= value;
    ++at_barrier_;
    if (at_barrier_ < left_) {
      wait("__syncthreads", 0);
    } else {
      pass_barrier();
    }
    return passed_any_;
  }

  const std::byte* gather(const char* name, unsigned lanes, const void* value, std::size_t bytes) {
    warp_state& warp = warps_[current_ / warp_lanes];
    const std::size_t lane = current_ % warp_lanes;
    if ((lanes >> lane & 1) == 0)
      throw std::logic_error(std::string(name) + ": the calling lane is not among the lanes");
    std::memcpy(warp.brought.data() + lane * lane_bytes, value, bytes);
    if (others_wait(name, lanes)) {
      each_lane(lanes, [&](std::size_t other) {
        std::memcpy(warp.gathered.data() + other * lane_bytes, warp.brought.data() + other * lane_bytes, lane_bytes);
        if (other != lane) make_ready(current_ - lane + other);
      });
      warp.waiting -= std::popcount(lanes) - 1;
    } else {
      ++warp.waiting;
      wait(name, lanes);
    }
    return warp.gathered.data();
  }

  thread_state& current() { return threads_[current_]; }

 private:
  void resume(thread_state& thread) {
    if (!thread.fiber)
      thread.fiber = boost::context::fiber(
          std::allocator_arg, stacks, [this](boost::context::fiber&& scheduler) { return live(std::move(scheduler)); });
    here.thread = thread.index;
    thread.fiber = std::move(thread.fiber).resume();
  }

  boost::context::fiber live(boost::context::fiber&& scheduler) {
    scheduler_ = std::move(scheduler);
    try {
      kernel_();
    } catch (const boost::context::detail::forced_unwind&) {
      throw;
    } catch (...) {
      failed_ = std::current_exception();
    }
    current().ended = true;
    if (--left_ > 0 && at_barrier_ == left_) pass_barrier();
    return std::move(scheduler_);
  }

  void wait(const char* name, unsigned lanes) {
    thread_state& thread = current();
    thread.waits_at = name;
    thread.waits_for = lanes;
    scheduler_ = std::move(scheduler_).resume();
  }

  void make_ready(std::size_t thread) {
    threads_[thread].waits_at = nullptr;
    ready_.push_back(thread);
  }

  /// Called by the thread that was waited for, which goes on.
  void pass_barrier() {
    for (std::size_t i = 0; i < threads_.size(); ++i)
      if (threads_[i].waits_at != nullptr && threads_[i].waits_for == 0) make_ready(i);
    at_barrier_ = 0;
    passed_any_ = std::exchange(any_, false);
  }

  bool others_wait(const char* name, unsigned lanes) const {
    if (warps_[current_ / warp_lanes].waiting + 1 < std::popcount(lanes)) return false;  // sooner than to look at each
    bool result = true;
    each_lane(lanes, [&](std::size_t lane) {
      const std::size_t other = current_ - current_ % warp_lanes + lane;
      if (other == current_) return;
      result = result && other < threads_.size() && threads_[other].waits_at != nullptr &&
               threads_[other].waits_for == lanes && std::strcmp(threads_[other].waits_at, name) == 0;
    });
    return result;
  }

  template <class Visit>
  static void each_lane(unsigned lanes, Visit visit) {
    for (std::size_t lane = 0; lane < warp_lanes; ++lane)
      if ((lanes >> lane & 1) != 0) visit(lane);
  }

  std::string who_waits() const {
    std::string text;
    for (std::size_t i = 0; i < threads_.size() && text.size() < 400; ++i) {
      if (i > 0 && state_of(threads_[i]) == state_of(threads_[i - 1])) continue;
      text += (i > 0 ? ", thread " : "thread ") + std::to_string(i) + " and on " + state_of(threads_[i]);
    }
    return text;
  }

  static std::string state_of(const thread_state& thread) {
    return thread.ended ? "has ended" : std::string("waits at ") + thread.waits_at;
  }

  const std::function<void()>& kernel_;
  std::vector<thread_state> threads_;
  std::vector<warp_state> warps_;
  std::deque<std::size_t> ready_;
  std::size_t current_ = 0;
  std::size_t left_;
  std::size_t at_barrier_ = 0;
  bool any_ = false;
  bool passed_any_ = false;
  std::exception_ptr failed_;
  boost::context::fiber scheduler_;
};

block_run* running = nullptr;

void run_block(const launch_size& size, const std::function<void()>& kernel, bool backwards) {
  std::memset(shared.data(), 0xff, size.shared_bytes);
  block_run block(size, kernel, backwards);
  running = &block;
  block.run();
  running = nullptr;
}

}  // namespace

void run(const launch_size& size, const std::function<void()>& kernel) {
  static bool backwards = false;
  const unsigned count = size.blocks.x * size.blocks.y * size.blocks.z;
  here.threads = size.threads;
  here.blocks = size.blocks;
  for (unsigned i = 0; i < count; ++i) {
    const unsigned index = backwards ? count - 1 - i : i;
    here.block = {index % size.blocks.x, index / size.blocks.x % size.blocks.y, index / size.blocks.x / size.blocks.y};
    run_block(size, kernel, backwards);
  }
  backwards = !backwards;
}

bool synchronize(bool value) { return running->synchronize(value); }

std::byte* shared_memory() { return shared.data(); }

void copy_later(std::byte* target, const void* source, std::size_t bytes) {
  thread_state& thread = running->current();
  thread.copies.push_back({target, source, bytes, thread.groups});
}

void end_copies() { ++running->current().groups; }

void wait_for_copies(std::size_t groups_left) {
  thread_state& thread = running->current();
  std::erase_if(thread.copies, [&](const copy& entry) {
    if (entry.group + groups_left >= thread.groups) return false;
    if (entry.source != nullptr)
      std::memcpy(entry.target, entry.source, entry.bytes);
    else
      std::memset(entry.target, 0, entry.bytes);
    return true;
  });
}

const std::byte* gather(const char* name, unsigned lanes, const void* value, std::size_t bytes) {
  return running->gather(name, lanes, value, bytes);
}

}  // namespace emulated_cuda
