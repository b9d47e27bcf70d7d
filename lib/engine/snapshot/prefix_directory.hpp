#pragma once

#include "engine/snapshot/session_file.hpp"

#include <cogen/scheduler/scheduler.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::detail {

/// A prefix that is kept in a directory.
struct stored_prefix {
  std::filesystem::path path;
  scheduler::cached_prefix prefix;
};

/// Prefixes of ended sequences in a directory: a session file for each (see session_format.hpp), named after tenant,
/// salt, and SHA-256 of all that it is of; a file of another name is not found. Engines of several models and processes
/// may use one directory at the same time: files are replaced as a whole, and one that has gone is not found.
class prefix_directory {
 public:
  using log = std::function<void(std::string_view)>;

  /// Makes the directory if it does not exist, and reads which prefixes of this model and kind of cache it has. Files
  /// that are damaged are reported, those that a process has left unfinished are removed. Throws std::invalid_argument
  /// if the directory cannot be made, read or written.
  prefix_directory(std::filesystem::path where, session_limits limits, std::int64_t max_bytes, const log& report);

  /// The prefix of which the most tokens can be used for these, if those are `least` or more; null if there is none. A
  /// slot can be cut back by `rollback` tokens.
  std::shared_ptr<const stored_prefix> find(const scheduler::cache_salt& salt, std::span<const token> tokens, int least,
                                            int rollback) const;

  /// Reads the file, and marks it as used. Throws generation_error and std::bad_alloc.
  read_session read(const stored_prefix& stored) const;

  /// It is not found any more.
  void forget(const stored_prefix& stored);

  /// Writes the prefix, unless it was found there, and removes the files used longest ago until those that are left
  /// take no more than the most bytes. Returns the error, if there was one.
  diagnostics write(const scheduler::cached_prefix& prefix, const kv_snapshot& snapshot) const noexcept;

 private:
  void add(const std::filesystem::path& path, const log& report);
  void remove_oldest() const;

  const std::filesystem::path where_;
  const session_limits limits_;
  const std::int64_t max_bytes_;
  std::vector<std::shared_ptr<const stored_prefix>> found_;
};

}  // namespace cogen::detail
