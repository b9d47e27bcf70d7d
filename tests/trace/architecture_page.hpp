#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>

namespace cogen::trace {

/// What docs/architecture.md says of the places that a token passes.
struct architecture_page {
  std::set<std::string> functions;                       ///< numbered, from generate() on: "engine::generate"
  std::set<std::string> places;                          ///< folders that a token of a running stream passes
  std::set<std::pair<std::string, std::string>> upward;  ///< folders where calls go up, and those that they go to
};

/// Throws std::runtime_error if the section is not found.
architecture_page read_architecture_page(const std::filesystem::path& repository);

}  // namespace cogen::trace
