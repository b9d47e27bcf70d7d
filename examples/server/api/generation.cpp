#include "api/generation.hpp"

#include "api/error.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <limits>

namespace server::api {
namespace {

std::optional<int> integer_header(const http::request& request, std::string_view name, int least) {
  const auto text = request.header(name);
  if (!text) return std::nullopt;
  int value = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), value);
  if (read.ec != std::errc() || read.ptr != text->data() + text->size() || value < least)
    throw invalid(std::string(name), fmt::format("the header {} is \"{}\"; it must be an integer between {} and {}",
                                                 name, text->substr(0, 60), least, std::numeric_limits<int>::max()));
  return value;
}

std::optional<cogen::clock::duration> milliseconds_header(const http::request& request, std::string_view name) {
  const auto value = integer_header(request, name, 1);
  if (!value) return std::nullopt;
  return std::chrono::milliseconds(*value);
}

}  // namespace

sender sender_of(const http::request& request, std::uint64_t tenant) {
  return {.tenant = tenant,
          .priority = integer_header(request, "x-priority", std::numeric_limits<int>::min()).value_or(0),
          .start_within = milliseconds_header(request, "x-start-within-ms"),
          .finish_within = milliseconds_header(request, "x-finish-within-ms")};
}

}  // namespace server::api
