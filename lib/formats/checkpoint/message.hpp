#pragma once

#include "formats/json/json_error.hpp"
#include "formats/json/printable.hpp"

#include <cogen/load/model_config.hpp>

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace cogen::load {

using json::in_quotes;
using json::printable;

/// Throws load_error "FILE: …".
template <class... Args>
[[noreturn]] void refuse(std::string_view file, fmt::format_string<Args...> format, Args&&... args) {
  throw load_error(fmt::format("{}: {}", file, fmt::format(format, std::forward<Args>(args)...)));
}

/// What `read` returns. A json_error that it throws becomes a load_error.
template <class Read>
auto read_json(Read read) {
  try {
    return read();
  } catch (const json::json_error& error) {
    throw load_error(error.what());
  }
}

}  // namespace cogen::load
