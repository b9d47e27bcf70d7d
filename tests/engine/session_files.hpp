#pragma once

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace cogen::test {

/// A file's path, and no file: where one was made it goes at the end.
struct session_path {
  session_path() = default;
  session_path(const session_path&) = delete;
  session_path& operator=(const session_path&) = delete;
  ~session_path() { std::filesystem::remove(path); }

  std::string bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }

  const std::filesystem::path path = std::filesystem::temp_directory_path() / name();

 private:
  static std::string name() {
    static int count = 0;
    return "cogen-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".session";
  }
};

/// Files of this process end at so many bytes, as on a disk that is full.
class file_limit {
 public:
  explicit file_limit(rlim_t bytes) : previous_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit lower{bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &lower);
  }
  file_limit(const file_limit&) = delete;
  file_limit& operator=(const file_limit&) = delete;
  ~file_limit() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, previous_);
  }

 private:
  rlimit limit_{};
  void (*previous_)(int);
};

/// The descriptors of files without a name among the temporary ones.
inline std::vector<int> nameless_files() {
  const auto folder = std::filesystem::temp_directory_path();
  std::vector<int> found;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(each.path(), gone).string();
    if (!gone && target.starts_with(folder.string() + "/") && target.ends_with("(deleted)"))
      found.push_back(std::stoi(each.path().filename().string()));
  }
  return found;
}

}  // namespace cogen::test
