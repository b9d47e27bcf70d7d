#pragma once

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

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

}  // namespace cogen::test
