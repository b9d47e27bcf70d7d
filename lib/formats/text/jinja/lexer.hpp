#pragma once

#include <algorithm>
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

/// The lexemes of a template, read one after the other.
class lexeme_stream {
 public:
  explicit lexeme_stream(std::vector<lexeme> lexemes) : lexemes_(std::move(lexemes)) {}

  const lexeme& now() const { return lexemes_[position_]; }
  const lexeme& after() const { return lexemes_[std::min(position_ + 1, lexemes_.size() - 1)]; }
  std::size_t line() const { return now().line; }
  bool at_end() const { return is(lexeme_kind::end); }

  bool is(lexeme_kind kind) const { return now().kind == kind; }
  bool is_symbol(std::string_view symbol) const { return is(lexeme_kind::symbol) && now().text == symbol; }
  bool is_name(std::string_view name) const { return is(lexeme_kind::name) && now().text == name; }

  lexeme take();
  bool take_symbol(std::string_view symbol);
  bool take_name(std::string_view name);

  // Each throws template_error where something else stands.
  lexeme expect(lexeme_kind kind, std::string_view description);
  void expect_symbol(std::string_view symbol);
  void expect_name(std::string_view name);

  /// Throws template_error saying what stands here instead of what was expected.
  [[noreturn]] void refuse(std::string_view expected) const;

 private:
  std::vector<lexeme> lexemes_;
  std::size_t position_ = 0;
};

/// What a lexeme is, for messages.
std::string description_of(const lexeme& item);

}  // namespace cogen::text::jinja
