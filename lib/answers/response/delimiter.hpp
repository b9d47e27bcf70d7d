#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::response {

/// A part of a delimiter: a text; white space, or none; or the name or the id of a call.
struct delimiter_part {
  enum class kind : std::uint8_t { text, space, name, id };

  kind type = kind::text;
  std::string text = {};

  friend bool operator==(const delimiter_part&, const delimiter_part&) = default;
};

/// What a model writes between the parts of its response. It begins and ends with something else than white space,
/// since white space beside a delimiter belongs to it.
using delimiter = std::vector<delimiter_part>;

/// A delimiter as a table has it: `{name}` and `{id}` stand for what is captured, white space for any.
delimiter delimiter_of(std::string_view spelling);

/// Leaves out white space at both ends.
delimiter trimmed(delimiter parts);

/// Appends a text to a delimiter under construction.
void append_text(delimiter& parts, std::string_view text);

bool is_space(char byte) noexcept;

/// Of what names and ids are made: no white space, no quotes, no brackets, and none of `,;:=|\`.
bool is_name_byte(char byte) noexcept;

}  // namespace cogen::response
