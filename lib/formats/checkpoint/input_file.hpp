#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace cogen::load {

/// A regular file open for reading at any offset. Const members may be called from any thread at once.
class input_file {
 public:
  /// Throws load_error where the file is missing, unreadable, no regular file, or a pointer of Git LFS.
  explicit input_file(const std::filesystem::path& path);
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&&) = delete;
  ~input_file();

  const std::filesystem::path& path() const noexcept { return path_; }
  const std::string& name() const noexcept { return name_; }

  /// In bytes, when it was opened.
  std::uint64_t size() const noexcept { return size_; }

  /// Fills `out` from `offset` on. Throws load_error where the file ends earlier or reading fails.
  void read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  input_file(const std::filesystem::path& path, int descriptor);  // owns it

  std::filesystem::path path_;
  std::string name_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// Whether anything of that name can be seen, be it a link to nothing.
bool is_there(const std::filesystem::path& path) noexcept;

/// Bytes of a file of settings, at most.
inline constexpr std::uint64_t largest_settings_file = 1 << 20;

/// A whole file as text. Throws load_error where it cannot be read or is larger than `largest` bytes.
std::string read_text(const std::filesystem::path& path, std::uint64_t largest);

}  // namespace cogen::load
