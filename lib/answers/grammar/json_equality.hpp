#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cogen::grammar {

/// Of the white space between tokens.
bool is_json_space(char byte) noexcept;

/// Spells JSON, read byte by byte, so that what differs in white space, in escapes, or in zeros behind a point is
/// spelled in the same way. What a beginning of a text spells, is a beginning of what the text spells.
class json_speller {
 public:
  /// Appends what the byte completes.
  void read(char byte, std::string& spelled);

  bool in_string() const noexcept { return in_string_; }
  bool in_escape() const noexcept { return in_string_ && !waiting_.empty(); }

 private:
  enum class number_part : std::uint8_t { none, whole, fraction, exponent };

  void read_in_string(char byte, std::string& spelled);
  void read_in_number(char byte, std::string& spelled);

  bool in_string_ = false;
  number_part number_ = number_part::none;
  std::string waiting_ = {};  // an escape, a minus, or zeros behind a point, of which more has to be known
};

/// A whole JSON value, so that equal ones are the same: 1 is 1.0, and members have no order.
std::string canonical_json(std::string_view json);

}  // namespace cogen::grammar
