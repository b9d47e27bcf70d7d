#include "formats/checkpoint/input_file.hpp"

#include "formats/checkpoint/message.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::size_t largest_read = std::size_t{1} << 30;  // one pread moves at most 2 GiB

std::string error_text(int error) { return std::generic_category().message(error); }

int open_for_reading(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) refuse(path.string(), "cannot be opened: {}", error_text(errno));
  return descriptor;
}

constexpr std::string_view pointer_of_lfs = "version https://git-lfs.github.com/spec/";
constexpr std::uint64_t max_pointer_bytes = 1024;

void refuse_pointer(const input_file& file) {
  if (file.size() < pointer_of_lfs.size() || file.size() > max_pointer_bytes) return;
  std::string begin(pointer_of_lfs.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(begin)));
  if (begin == pointer_of_lfs) refuse(file.name(), "is a pointer of Git LFS; `git lfs pull` fetches what it points to");
}

}  // namespace

input_file::input_file(const std::filesystem::path& path, int descriptor)
    : path_(path), name_(path.string()), descriptor_(descriptor) {}

input_file::input_file(const std::filesystem::path& path) : input_file(path, open_for_reading(path)) {
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) refuse(name_, "is not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  refuse_pointer(*this);
}

input_file::input_file(input_file&& other) noexcept
    : path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

input_file::~input_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void input_file::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const auto got = ::pread(descriptor_, out.data(), std::min(out.size(), largest_read), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(name_, "cannot be read at byte {}: {}", offset, error_text(errno));
    if (got == 0)
      refuse(name_, "was cut short: it had {} bytes when it was opened and now ends at byte {}", size_, offset);
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

bool is_there(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

std::string read_text(const std::filesystem::path& path, std::uint64_t largest) {
  const input_file file(path);
  if (file.size() > largest) refuse(file.name(), "has {} bytes; at most {} are read", file.size(), largest);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace cogen::load
