#include "architecture_page.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace cogen::trace {
namespace {

std::string section_of_places(const std::filesystem::path& page) {
  std::ifstream stream(page, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto first = text.find("\n### The places it passes\n");
  if (first == std::string::npos) throw std::runtime_error(page.string() + " has no section of the places");
  return text.substr(first, text.find("\n### ", first + 1) - first);
}

}  // namespace

architecture_page read_architecture_page(const std::filesystem::path& repository) {
  static const std::regex numbered(R"(\| \d+ \| `([\w:]+)(\(\))?` \|.*)");
  static const std::regex folder(R"(\| `([\w/]+)` \|.*)");
  static const std::regex upward(R"(\| `([\w/]+)` to `([\w/]+)` \|.*)");
  architecture_page result;
  std::istringstream lines(section_of_places(repository / "docs" / "architecture.md"));
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, numbered)) result.functions.insert(match[1]);
    if (std::regex_match(line, match, folder)) result.places.insert(match[1]);
    if (std::regex_match(line, match, upward)) result.upward.emplace(match[1], match[2]);
  }
  return result;
}

}  // namespace cogen::trace
