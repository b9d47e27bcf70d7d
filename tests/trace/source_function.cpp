#include "source_function.hpp"

#include <algorithm>
#include <array>
#include <sanitizer/common_interface_defs.h>
#include <stdexcept>
#include <string_view>
#include <xray/xray_interface.h>

namespace cogen::trace {
namespace {

constexpr std::string_view separator = " in file ";

/// Of a function that begins with another one, which was inlined, the last line is its own.
std::string last_line(std::string_view lines) {
  std::string last;
  while (!lines.empty() && lines.front() != '\0') {
    last = lines.substr(0, lines.find('\0'));
    lines.remove_prefix(std::min(lines.size(), last.size() + 1));
  }
  return last;
}

std::string symbol_of(std::int32_t function) {
  // One byte behind the entry: what is looked up is taken for an address to return to.
  auto* const entry = reinterpret_cast<void*>(__xray_function_address(function) + 1);
  static std::array<char, 1 << 16> lines;
  lines.fill('\0');
  __sanitizer_symbolize_pc(entry, "%f in file %s", lines.data(), lines.size() - 1);
  return last_line({lines.data(), lines.size()});
}

/// A compiler cache may have kept the path of another checkout: what counts is how it ends.
std::string path_in_repository(const std::filesystem::path& file, const std::filesystem::path& repository) {
  const auto whole = file.lexically_normal();
  for (auto first = whole.begin(); first != whole.end(); ++first) {
    if (*first != "lib" && *first != "cache" && *first != "scheduler" && *first != "tests") continue;
    std::filesystem::path ending;
    for (auto part = first; part != whole.end(); ++part) ending /= *part;
    if (std::filesystem::is_regular_file(repository / ending)) return ending.generic_string();
  }
  return {};
}

}  // namespace

source_function describe_function(std::int32_t function, const std::filesystem::path& repository) {
  const auto symbol = symbol_of(function);
  const auto end_of_name = symbol.rfind(separator);
  if (end_of_name == std::string::npos || symbol.ends_with("<null>") || symbol.ends_with(separator))
    throw std::runtime_error("llvm-symbolizer, of the package llvm-16, was not found: functions have no names: " +
                             symbol);
  return {symbol.substr(0, end_of_name), path_in_repository(symbol.substr(end_of_name + separator.size()), repository)};
}

}  // namespace cogen::trace
