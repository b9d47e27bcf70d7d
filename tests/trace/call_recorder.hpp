#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cogen::trace {

/// A call of a function. Those of one function by the same chain of callers are one.
struct call {
  std::int32_t function;              ///< its number in this program
  std::optional<std::size_t> caller;  ///< which of the calls it was made in; nothing: none of them
};

/// The calls that are made while `work` runs, on all threads. Callers come before those that they call. What the
/// compiler has inlined is a part of the function that it stands in.
std::vector<call> record_calls(const std::function<void()>& work);

}  // namespace cogen::trace
