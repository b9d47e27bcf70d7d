#include "engine/snapshot/swap_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

namespace cogen::detail {
namespace {

[[noreturn]] void fail(const std::string& message) { throw std::system_error(errno, std::generic_category(), message); }

/// If the file system does not support O_TMPFILE, creates a named file and unlinks it immediately.
int open_nameless(const std::filesystem::path& directory) {
  const int opened = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (opened >= 0) return opened;
  auto name = (directory / "cogen-swap-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail("no file for what is swapped out can be made in " + directory.string());
  ::unlink(name.c_str());
  return descriptor;
}

}  // namespace

swap_file::swap_file(const std::filesystem::path& directory, std::int64_t bytes)
    : descriptor_(open_nameless(directory)), bytes_(bytes) {}

swap_file::~swap_file() { ::close(descriptor_); }

std::optional<std::int64_t> swap_file::take(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::int64_t begin = 0;
  auto next = taken_.begin();
  for (; next != taken_.end() && next->first - begin < bytes; ++next) begin = next->second;
  if (bytes_ - begin < bytes) return std::nullopt;
  taken_.emplace_hint(next, begin, begin + bytes);
  return begin;
}

void swap_file::give_back(std::int64_t begin) noexcept {
  const std::lock_guard lock(mutex_);
  taken_.erase(begin);
}

void swap_file::write(std::int64_t begin, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto written = ::pwrite(descriptor_, bytes.data(), bytes.size(), begin);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("what is swapped out cannot be written");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    begin += written;
  }
}

void swap_file::read(std::int64_t begin, std::span<std::byte> buffer) const {
  while (!buffer.empty()) {
    const auto got = ::pread(descriptor_, buffer.data(), buffer.size(), begin);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("what was swapped out cannot be read");
    if (got == 0) throw std::runtime_error("the file of what was swapped out ends too early");
    buffer = buffer.subspan(static_cast<std::size_t>(got));
    begin += got;
  }
}

}  // namespace cogen::detail
