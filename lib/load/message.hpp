#pragma once

#include <cogen/load/load_error.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace cogen::load {

/// Text from a file with unprintable bytes escaped, cut where it is long.
std::string printable(std::string_view text);

/// Text from a file as a message may show it: printable, in quotes.
std::string in_quotes(std::string_view text);

/// Throws load_error "FILE: …".
template <class... Args>
[[noreturn]] void refuse(std::string_view file, fmt::format_string<Args...> format, Args&&... args) {
  throw load_error(fmt::format("{}: {}", file, fmt::format(format, std::forward<Args>(args)...)));
}

}  // namespace cogen::load
