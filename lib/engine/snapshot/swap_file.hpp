#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace cogen::detail {

/// A file without a name, in which ranges of bytes are taken, written and read. It is deleted with this object, or at
/// the end of the process. Any thread.
class swap_file {
 public:
  /// A file of at most `bytes` bytes. Throws std::system_error, naming the directory.
  swap_file(const std::filesystem::path& directory, std::int64_t bytes);
  swap_file(const swap_file&) = delete;
  swap_file& operator=(const swap_file&) = delete;
  ~swap_file();

  /// Takes the first free range of `bytes` bytes and returns its offset; nothing if no gap is large enough.
  std::optional<std::int64_t> take(std::int64_t bytes);
  void give_back(std::int64_t begin) noexcept;

  // Only within a range that is taken. Both throw std::system_error; read() throws std::runtime_error if the file is
  // too short.

  void write(std::int64_t begin, std::span<const std::byte> bytes) const;
  void read(std::int64_t begin, std::span<std::byte> buffer) const;

 private:
  const int descriptor_;
  const std::int64_t bytes_;
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> taken_;  // ends of the ranges by their offsets; guarded by mutex_
};

}  // namespace cogen::detail
