#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>

namespace cogen::trace {

/// A function, and the file that it is written in: its path from the repository's root, or nothing where that is a file
/// of others.
struct source_function {
  std::string name;
  std::string path;

  auto operator<=>(const source_function&) const = default;
};

/// What the debugging information says of a function of this program, by its number. Throws std::runtime_error if
/// nothing reads that: llvm-symbolizer does.
source_function describe_function(std::int32_t function, const std::filesystem::path& repository);

}  // namespace cogen::trace
