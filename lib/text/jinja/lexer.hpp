#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text::jinja {

enum class lexeme_kind : std::uint8_t {
  data,  ///< text outside of tags
  statement_begin,
  statement_end,
  output_begin,
  output_end,
  name,
  string,
  integer,
  real,
  symbol,  ///< operators and punctuation
  end,
};

struct lexeme {
  lexeme_kind kind = lexeme_kind::end;
  std::size_t line = 0;
  std::string text;  ///< the data, the name, the string's content, the number's or symbol's spelling
};

/// Cuts a template into lexemes, with the white-space rules of trim_blocks and lstrip_blocks already applied.
/// Throws template_error for a tag that is not closed, a string without end or a character that means nothing.
std::vector<lexeme> lex(std::string_view source);

}  // namespace cogen::text::jinja
