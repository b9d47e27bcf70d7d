#include "http/router.hpp"

namespace server::http {
namespace {

std::string_view up_to_slash(std::string_view text) { return text.substr(0, text.find('/')); }

}  // namespace

std::optional<std::vector<std::pair<std::string, std::string>>> matched(std::string_view pattern,
                                                                        std::string_view path) {
  std::vector<std::pair<std::string, std::string>> found;
  while (!pattern.empty()) {
    if (pattern.front() != '{') {
      if (path.empty() || path.front() != pattern.front()) return std::nullopt;
      pattern.remove_prefix(1);
      path.remove_prefix(1);
      continue;
    }
    auto name = pattern.substr(1, pattern.find('}') - 1);
    pattern.remove_prefix(name.size() + 2);
    const bool rest = name.ends_with("...");
    if (rest) name.remove_suffix(3);
    const auto value = rest ? path : up_to_slash(path);
    if (value.empty()) return std::nullopt;
    found.emplace_back(name, value);
    path.remove_prefix(value.size());
  }
  if (!path.empty()) return std::nullopt;
  return found;
}

}  // namespace server::http
