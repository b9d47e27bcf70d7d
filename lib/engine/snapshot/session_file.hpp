#pragma once

#include "engine/snapshot/session_format.hpp"

#include <filesystem>
#include <functional>

namespace cogen::detail {

/// Writes the file atomically: writes another file beside it, which then replaces it. `snapshot` is that of
/// `state.snapshot`, or null. Once `unwanted` returns true, gives up without an error. Returns the error, if there was
/// one; then the old file is unchanged.
diagnostics write_session(const std::filesystem::path& path, const session& state,
                          const std::shared_ptr<const kv_snapshot>& snapshot,
                          const std::function<bool()>& unwanted) noexcept;

/// Throws generation_error, naming the file, and std::bad_alloc.
read_session read_session_file(const std::filesystem::path& path, const session_limits& within);

/// Reads a session without the bytes of its snapshot, and without checking what it is of. Throws as above.
session read_session_head(const std::filesystem::path& path);

}  // namespace cogen::detail
