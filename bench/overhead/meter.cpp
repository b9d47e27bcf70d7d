#include "meter.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>
#include <stdexcept>
#include <utility>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

namespace {

thread_local std::uint64_t allocations = 0;

void* counted(void* memory) {
  ++allocations;
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto whole = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(whole, (size + whole - 1) / whole * whole));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace overhead {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

meter::meter() : within_callgrind_(RUNNING_ON_VALGRIND) {}

std::string meter::counted_by() const {
  if (within_callgrind_) return "callgrind";
  return counter_.counts() ? "the processor" : "nothing: the kernel refuses the counter (" + counter_.why_not() + ")";
}

void meter::enter(part next) {
  const auto now = std::chrono::steady_clock::now();
  if (now_ != part::outside) {
    auto& left = so_far_[static_cast<std::size_t>(now_)];
    left.nanoseconds += std::chrono::duration<double, std::nano>(now - since_).count();
    left.allocations += static_cast<double>(allocations - allocated_);
  }
  if (now_ != next && (now_ == counted_ || next == counted_)) toggle();
  now_ = next;
  allocated_ = allocations;
  since_ = std::chrono::steady_clock::now();
}

/// The counted part begins or ends.
void meter::toggle() {
  if (within_callgrind_) {
    CALLGRIND_TOGGLE_COLLECT;
    return;
  }
  const auto count = counter_.now();
  if (now_ == counted_) instructions_ += count - counted_since_;
  counted_since_ = count;
}

void meter::end_step() {
  enter(part::outside);
  for (std::size_t i = 0; i < times_.size(); ++i) times_[i].push_back(std::exchange(so_far_[i].nanoseconds, 0));
}

costs meter::take(const std::string& name) {
  auto taken = std::exchange(so_far_, {});
  if (counted_)
    taken[static_cast<std::size_t>(*counted_)].instructions =
        within_callgrind_ ? collected(name) : static_cast<double>(std::exchange(instructions_, 0));
  for (std::size_t i = 0; i < times_.size(); ++i) {
    const auto steps = static_cast<double>(times_[i].size());
    taken[i] = {median(std::exchange(times_[i], {})), taken[i].allocations / steps, taken[i].instructions / steps};
  }
  return taken;
}

/// What callgrind says that it has collected since it was last asked. It writes that to a file of its own.
double meter::collected(const std::string& name) {
  CALLGRIND_DUMP_STATS_AT(name.c_str());
  const auto path = "callgrind.out." + std::to_string(getpid()) + "." + std::to_string(++dumps_);
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("totals: ")) return std::stod(line.substr(8));
  throw std::runtime_error(path + " does not say what callgrind has collected; give it no --callgrind-out-file");
}

}  // namespace overhead
