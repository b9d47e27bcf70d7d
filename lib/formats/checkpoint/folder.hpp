#pragma once

#include <filesystem>
#include <vector>

namespace cogen::load {

/// Paths of all that a folder holds, in no order. Throws std::system_error if it cannot be listed.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

}  // namespace cogen::load
