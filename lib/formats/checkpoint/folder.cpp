#include "formats/checkpoint/folder.hpp"

#include <cerrno>
#include <dirent.h>
#include <memory>
#include <string_view>
#include <system_error>

namespace cogen::load {

// Not by std::filesystem::directory_iterator: where memory is refused, that of libstdc++ calls std::terminate().
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder) {
  const auto check = [&](bool good) {
    if (!good) throw std::system_error(errno, std::generic_category(), folder.string());
  };
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  check(open != nullptr);
  std::vector<std::filesystem::path> found;
  errno = 0;
  while (const auto* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") found.push_back(folder / name);
    errno = 0;
  }
  check(errno == 0);
  return found;
}

}  // namespace cogen::load
