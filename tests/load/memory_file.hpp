#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

/// A file that exists in memory only, under a path that any reader can open.
class memory_file {
 public:
  explicit memory_file(std::string_view bytes = {}) : descriptor_(memfd_create("cogen", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("no file in memory");
    assign(bytes);
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { close(descriptor_); }

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  void assign(std::string_view bytes) {
    cut(bytes.size());
    if (pwrite(descriptor_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("a file in memory was not written");
    }
  }

  void cut(std::size_t size) {
    if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) throw std::runtime_error("a file in memory was not cut");
  }

 private:
  int descriptor_;
};
