#pragma once

#include "call_recorder.hpp"
#include "source_function.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::trace {

/// A folder on the way, and what was called there first.
struct place {
  std::string folder;
  std::string first_function;
};

/// What a folder calls in one above it, in the order that tests/structure states.
struct upward_call {
  std::string caller_folder;
  std::string callee_folder;
  std::set<std::string> callees;
};

/// What recorded calls pass through. A function of the standard library or of Boost is passed over: what it calls is
/// called by whoever called it. Code of the tests calls as a program does, and does not count.
class token_way {
 public:
  token_way(const std::vector<call>& calls, const std::filesystem::path& repository);

  /// In the order in which they are reached.
  std::vector<place> places() const;

  /// One for each pair of folders. A value that is made, moved or destroyed does not count: a template does that with
  /// values of whoever uses it.
  std::vector<upward_call> upward_calls() const;

  /// Whether a function of that class was called: "engine::generate".
  bool passes(std::string_view function) const;

 private:
  const source_function* caller_of(const call& callee) const;

  std::vector<call> calls_;
  std::vector<source_function> functions_;  // of each call
};

}  // namespace cogen::trace
