#pragma once

#include "../instruction_counter.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overhead {

/// Where the time of a step goes.
enum class part : std::uint8_t {
  engine,   ///< decides, delivers, completes what waits
  launch,   ///< what stands for the kernels: the runner, and the samples within it
  readers,  ///< the coroutines that read
  outside,
};

constexpr std::array measured_parts{part::engine, part::launch, part::readers};

double median(std::vector<double> values);

/// What a part of a step has cost: the median time, and the mean of what is counted.
struct cost {
  double nanoseconds = 0;
  double allocations = 0;
  double instructions = 0;
};

using costs = std::array<cost, measured_parts.size()>;

/// Times the parts, and counts the allocations of them all and the instructions of one at a time: with the processor's
/// counter or, within callgrind, by what that collects. One thread.
class meter {
 public:
  meter();

  /// Whether instructions are counted, and by what or why not.
  bool counts() const { return within_callgrind_ || counter_.counts(); }
  std::string counted_by() const;

  /// Whether times mean nothing.
  bool slows_down() const { return within_callgrind_; }

  /// Whose instructions are counted from now on.
  void count(std::optional<part> which) { counted_ = which; }

  /// From here on it is that part.
  void enter(part next);

  /// A step is over; what follows is outside of all parts.
  void end_step();

  /// Of a step since the last time; instructions of the counted part alone. `name` is for callgrind's files.
  costs take(const std::string& name);

 private:
  void toggle();
  double collected(const std::string& name);

  instruction_counter counter_;
  bool within_callgrind_;
  int dumps_ = 0;
  part now_ = part::outside;
  std::optional<part> counted_;
  std::chrono::steady_clock::time_point since_;
  std::uint64_t allocated_ = 0;
  std::uint64_t counted_since_ = 0;
  std::uint64_t instructions_ = 0;
  costs so_far_;
  std::array<std::vector<double>, measured_parts.size()> times_;
};

}  // namespace overhead
