#pragma once

#include <cogen/cache/cache.hpp>

#include <span>
#include <string>
#include <string_view>

namespace curves {

/// The parameters of a cache kind.
struct room {
  int max_sequence_length;  ///< tokens that a slot is to hold, for the kinds that have a bound
  int max_step_tokens;      ///< new tokens in one forward
};

/// A cache kind by the name it has on the command line.
struct kind {
  std::string_view name;
  std::string_view description;
  cogen::cache::options (*options)(const room&);
};

std::span<const kind> kinds();

/// Throws std::invalid_argument, naming the kinds there are.
const kind& kind_named(std::string_view name);

/// One line for each kind.
std::string list_of_kinds();

}  // namespace curves
