#pragma once

#include "answers/response/reader.hpp"

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace cogen {

bool operator==(const tool_call& left, const tool_call& right);
std::ostream& operator<<(std::ostream& out, tool_call_status status);
std::ostream& operator<<(std::ostream& out, const tool_call& call);

}  // namespace cogen

namespace cogen::response {

/// A whole response, taken apart.
struct response_parts {
  std::string text;
  std::string reasoning;
  std::vector<tool_call> tool_calls;

  friend bool operator==(const response_parts&, const response_parts&) = default;
};

std::ostream& operator<<(std::ostream& out, const response_parts& parts);

/// What a reader makes of a text that arrives in pieces.
response_parts read(const response_syntax& syntax, const std::vector<std::string_view>& pieces,
                    reader::options options = {}, const parameter_types& types = {});

/// The same for any cut of the text, which it checks: into two pieces anywhere, into bytes, and at random.
response_parts read(const response_syntax& syntax, std::string_view text, reader::options options = {},
                    const parameter_types& types = {});

/// A call that is complete.
tool_call called(std::string name, std::string arguments, std::string id = "");

}  // namespace cogen::response
