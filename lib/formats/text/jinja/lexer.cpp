#include "formats/text/jinja/lexer.hpp"

#include "formats/text/character_class.hpp"
#include "formats/text/jinja/text_operations.hpp"
#include "formats/text/utf8.hpp"

#include <cogen/text/chat_template.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>

namespace cogen::text::jinja {
namespace {

// Resolves the escapes of a string literal, given without its quotes, as Python does.
class unescaper {
 public:
  unescaper(std::string_view literal, std::size_t line) : rest_(literal), line_(line) {}

  std::string run() {
    while (!rest_.empty()) {
      if (rest_[0] != '\\') {
        out_ += take(1);
      } else {
        take(1);
        resolve(take(1)[0]);
      }
    }
    return std::move(out_);
  }

 private:
  void resolve(char escape) {
    switch (escape) {
      case '\n':
        return;
      case '\\':
      case '\'':
      case '"':
        return put(escape);
      case 'a':
        return put('\a');
      case 'b':
        return put('\b');
      case 'f':
        return put('\f');
      case 'n':
        return put('\n');
      case 'r':
        return put('\r');
      case 't':
        return put('\t');
      case 'v':
        return put('\v');
      case 'x':
        return put_code_point(2);
      case 'u':
        return put_utf16();
      case 'U':
        return put_code_point(8);
      case 'N':
        throw template_error("characters by name (\\N) in a string are unknown", line_);
      default:
        return escape >= '0' && escape <= '7' ? put_octal(escape) : put_unknown(escape);
    }
  }

  void put(char c) { out_ += c; }

  void put_unknown(char escape) {
    out_ += '\\';
    out_ += escape;
  }

  void put_octal(char first) {
    char32_t code_point = static_cast<char32_t>(first - '0');
    for (int i = 0; i < 2 && !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '7'; ++i) {
      code_point = code_point * 8 + static_cast<char32_t>(take(1)[0] - '0');
    }
    append_utf8(out_, code_point);
  }

  void put_code_point(std::size_t digits) { append_checked(hexadecimal(digits)); }

  void put_utf16() {
    auto unit = hexadecimal(4);
    bool is_high = unit >= 0xD800 && unit < 0xDC00;
    if (is_high && rest_.starts_with("\\u")) {
      take(2);
      auto low = hexadecimal(4);
      if (low < 0xDC00 || low > 0xDFFF) throw template_error("a string has half of a surrogate pair", line_);
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    }
    append_checked(unit);
  }

  void append_checked(char32_t code_point) {
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
      throw template_error("a string has an escape that is not a character", line_);
    }
    append_utf8(out_, code_point);
  }

  char32_t hexadecimal(std::size_t digits) {
    auto text = take(digits);
    std::uint32_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc{} || text.size() != digits || end != text.data() + digits) {
      throw template_error("a string has a malformed hexadecimal escape", line_);
    }
    return number;
  }

  std::string_view take(std::size_t count) {
    auto taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view rest_;
  std::size_t line_;
  std::string out_;
};

enum class tag_kind { statement, output, comment };

constexpr std::array<std::string_view, 6> long_symbols{"==", "!=", ">=", "<=", "//", "**"};
constexpr std::string_view short_symbols = "+-/*%~[](){}><=.:|,;";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_letter(std::string_view text) {
  return begins_name(text[0]) || (text[0] < 0 && is_word_character(first_character(text).code_point));
}

std::string with_plain_newlines(std::string_view source) {
  std::string result;
  result.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      result += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      result += source[i];
    }
  }
  if (result.ends_with('\n')) result.pop_back();
  return result;
}

class lexer {
 public:
  explicit lexer(std::string_view source) : source_(source) {}

  std::vector<lexeme> run() {
    while (position_ < source_.size()) lex_text_and_tag();
    put(lexeme_kind::end, "");
    return std::move(lexemes_);
  }

 private:
  void lex_text_and_tag() {
    auto tag = find_tag(position_);
    auto text = source_.substr(position_, tag - position_);
    if (tag == source_.size()) {
      put_data(text);
      return advance(text.size());
    }
    auto kind = kind_at(tag);
    char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    put_data(trimmed(text, kind, sign));
    advance(text.size() + 2);
    if (sign == '-' || sign == '+') advance(1);
    lex_tag(kind);
  }

  std::size_t find_tag(std::size_t begin) const {
    for (auto position = source_.find('{', begin); position != std::string_view::npos;
         position = source_.find('{', position + 1)) {
      if (position + 1 < source_.size() &&
          std::string_view("%{#").find(source_[position + 1]) != std::string_view::npos)
        return position;
    }
    return source_.size();
  }

  tag_kind kind_at(std::size_t tag) const {
    switch (source_[tag + 1]) {
      case '%':
        return tag_kind::statement;
      case '{':
        return tag_kind::output;
      default:
        return tag_kind::comment;
    }
  }

  // What is left of the text before a tag: all but its trailing space after a minus, and all but the space between the
  // line's beginning and a statement or comment.
  std::string_view trimmed(std::string_view text, tag_kind kind, char sign) const {
    if (sign == '-') return text.substr(0, end_before_space(text));
    if (sign == '+' || kind == tag_kind::output) return text;
    auto newline = text.rfind('\n');
    if (newline == std::string_view::npos && !line_starts_) return text;
    auto line = newline == std::string_view::npos ? 0 : newline + 1;
    return begin_after_space(text.substr(line)) == text.size() - line ? text.substr(0, line) : text;
  }

  void lex_tag(tag_kind kind) {
    if (kind == tag_kind::comment) return skip_comment();
    if (kind == tag_kind::statement && lex_raw()) return;
    bool is_statement = kind == tag_kind::statement;
    auto begin_line = line_;
    put(is_statement ? lexeme_kind::statement_begin : lexeme_kind::output_begin, "");
    auto end = is_statement ? std::string_view("%}") : std::string_view("}}");
    while (!lex_end_of_tag(end, is_statement)) {
      if (position_ >= source_.size())
        fail("the tag that begins in line " + std::to_string(begin_line) + " is not closed");
      lex_inside();
    }
  }

  void skip_comment() {
    auto end = source_.find("#}", position_);
    if (end == std::string_view::npos) fail("the comment is not closed");
    char sign = end > position_ ? source_[end - 1] : '\0';
    advance(end + 2 - position_);
    skip_after_tag(sign, true);
  }

  bool lex_end_of_tag(std::string_view end, bool is_statement) {
    if (!open_.empty()) return false;
    auto rest = source_.substr(position_);
    char sign = rest.empty() ? '\0' : rest[0];
    bool signed_end = (sign == '-' || (sign == '+' && is_statement)) && rest.substr(1).starts_with(end);
    if (!signed_end && !rest.starts_with(end)) return false;
    put(is_statement ? lexeme_kind::statement_end : lexeme_kind::output_end, "");
    advance(signed_end ? 3 : 2);
    skip_after_tag(signed_end ? sign : '\0', is_statement);
    return true;
  }

  void skip_after_tag(char sign, bool trims_newline) {
    auto begin = position_;
    if (sign == '-') {
      advance(begin_after_space(source_.substr(position_)));
    } else if (sign != '+' && trims_newline && position_ < source_.size() && source_[position_] == '\n') {
      advance(1);
    }
    line_starts_ = position_ > begin && source_[position_ - 1] == '\n';
  }

  // {% raw %} ... {% endraw %}
  bool lex_raw() {
    auto body = after_keyword(position_, "raw");
    if (!body) return false;
    advance(*body - position_);
    for (auto end = source_.find("{%", position_); end != std::string_view::npos; end = source_.find("{%", end + 2)) {
      char sign = end + 2 < source_.size() ? source_[end + 2] : '\0';
      auto signed_by = sign == '-' || sign == '+' ? 3u : 2u;
      auto name = end + signed_by + begin_after_space(source_.substr(end + signed_by));
      if (!source_.substr(name).starts_with("endraw")) continue;
      line_starts_ = false;
      put_data(trimmed(source_.substr(position_, end - position_), tag_kind::statement, sign));
      advance(name + 6 - position_);
      advance(begin_after_space(source_.substr(position_)));
      return close_raw();
    }
    fail("the raw block is not closed");
  }

  bool close_raw() {
    char sign = position_ < source_.size() ? source_[position_] : '\0';
    if (sign == '-' || sign == '+') advance(1);
    if (!source_.substr(position_).starts_with("%}")) fail("'endraw' takes nothing");
    advance(2);
    skip_after_tag(sign, true);
    return true;
  }

  std::optional<std::size_t> after_keyword(std::size_t position, std::string_view keyword) const {
    position += begin_after_space(source_.substr(position));
    if (!source_.substr(position).starts_with(keyword)) return std::nullopt;
    position += keyword.size();
    position += begin_after_space(source_.substr(position));
    bool strips = source_.substr(position).starts_with("-%}");
    if (!strips && !source_.substr(position).starts_with("%}")) return std::nullopt;
    position += strips ? 3 : 2;
    return strips ? position + begin_after_space(source_.substr(position)) : position;
  }

  void lex_inside() {
    auto rest = source_.substr(position_);
    if (auto space = begin_after_space(rest)) return advance(space);
    char c = rest[0];
    if (is_letter(rest)) return lex_name();
    if (is_digit(c)) return lex_number();
    if (c == '"' || c == '\'') return lex_string(c);
    lex_symbol();
  }

  void lex_name() {
    auto end = position_;
    while (end < source_.size() && (is_letter(source_.substr(end)) || is_digit(source_[end])))
      end += first_character(source_.substr(end)).length;
    std::string text(source_.substr(position_, end - position_));
    put(lexeme_kind::name, text);
    advance(text.size());
  }

  /// 0x1F, 0o17 and 0b11.
  std::size_t end_of_other_base() const {
    constexpr std::array<std::pair<char, std::string_view>, 3> bases{
        {{'x', "0123456789abcdefABCDEF"}, {'o', "01234567"}, {'b', "01"}}};
    if (source_[position_] != '0' || position_ + 1 >= source_.size()) return position_;
    for (auto [letter, digits] : bases) {
      if ((source_[position_ + 1] | ' ') != letter) continue;
      auto end = source_.find_first_not_of(std::string(digits) + "_", position_ + 2);
      if (end == std::string_view::npos) end = source_.size();
      return end > position_ + 2 && source_[end - 1] != '_' ? end : position_;
    }
    return position_;
  }

  void lex_number() {
    if (auto end = end_of_other_base(); end > position_) return put_number(lexeme_kind::integer, end);
    auto end = end_of_digits(position_);
    bool is_real = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_real = true;
      end = end_of_digits(end + 1);
    }
    if (auto exponent = end_of_exponent(end); exponent > end) {
      is_real = true;
      end = exponent;
    }
    put_number(is_real ? lexeme_kind::real : lexeme_kind::integer, end);
  }

  void put_number(lexeme_kind kind, std::size_t end) {
    if (end < source_.size() && begins_name(source_[end])) fail("a number is followed by a letter");
    auto text = std::string(source_.substr(position_, end - position_));
    std::erase(text, '_');
    put(kind, text);
    advance(end - position_);
  }

  std::size_t end_of_digits(std::size_t position) const {
    while (position < source_.size() && (is_digit(source_[position]) || is_digit_separator(position))) ++position;
    return position;
  }

  bool is_digit_separator(std::size_t position) const {
    return source_[position] == '_' && position + 1 < source_.size() && is_digit(source_[position + 1]);
  }

  std::size_t end_of_exponent(std::size_t position) const {
    if (position >= source_.size() || (source_[position] != 'e' && source_[position] != 'E')) return position;
    auto digits = position + 1;
    if (digits < source_.size() && (source_[digits] == '+' || source_[digits] == '-')) ++digits;
    return digits < source_.size() && is_digit(source_[digits]) ? end_of_digits(digits) : position;
  }

  void lex_string(char quote) {
    auto end = position_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail("a string is not closed");
    put(lexeme_kind::string, unescaper(source_.substr(position_ + 1, end - position_ - 1), line_).run());
    advance(end + 1 - position_);
  }

  void lex_symbol() {
    auto rest = source_.substr(position_);
    auto found =
        std::find_if(long_symbols.begin(), long_symbols.end(), [&](auto symbol) { return rest.starts_with(symbol); });
    auto symbol = found != long_symbols.end() ? *found : rest.substr(0, 1);
    if (symbol.size() == 1 && short_symbols.find(symbol[0]) == std::string_view::npos) {
      fail("unexpected character '" + std::string(rest.substr(0, first_character(rest).length)) + "'");
    }
    balance(symbol[0]);
    put(lexeme_kind::symbol, std::string(symbol));
    advance(symbol.size());
  }

  void balance(char symbol) {
    constexpr std::string_view openings = "([{";
    constexpr std::string_view closings = ")]}";
    if (auto kind = openings.find(symbol); kind != std::string_view::npos) open_ += closings[kind];
    if (closings.find(symbol) == std::string_view::npos) return;
    if (open_.empty() || open_.back() != symbol) fail(std::string("unexpected '") + symbol + "'");
    open_.pop_back();
  }

  void put_data(std::string_view text) {
    if (!text.empty()) put(lexeme_kind::data, std::string(text));
  }

  void put(lexeme_kind kind, std::string text) { lexemes_.push_back({kind, line_, std::move(text)}); }

  void advance(std::size_t count) {
    auto passed = source_.substr(position_, count);
    line_ += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
    position_ += passed.size();
  }

  [[noreturn]] void fail(const std::string& message) const { throw template_error(message, line_); }

  std::string_view source_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
  bool line_starts_ = true;
  std::string open_;
  std::vector<lexeme> lexemes_;
};

}  // namespace

std::vector<lexeme> lex(std::string_view source) {
  auto plain = with_plain_newlines(source);
  return lexer(plain).run();
}

lexeme lexeme_stream::take() {
  auto taken = now();
  if (!at_end()) ++position_;
  return taken;
}

bool lexeme_stream::take_symbol(std::string_view symbol) {
  if (!is_symbol(symbol)) return false;
  take();
  return true;
}

bool lexeme_stream::take_name(std::string_view name) {
  if (!is_name(name)) return false;
  take();
  return true;
}

lexeme lexeme_stream::expect(lexeme_kind kind, std::string_view description) {
  if (!is(kind)) refuse(description);
  return take();
}

void lexeme_stream::expect_symbol(std::string_view symbol) {
  if (!take_symbol(symbol)) refuse("'" + std::string(symbol) + "'");
}

void lexeme_stream::expect_name(std::string_view name) {
  if (!take_name(name)) refuse("'" + std::string(name) + "'");
}

void lexeme_stream::refuse(std::string_view expected) const {
  throw template_error("expected " + std::string(expected) + ", found " + description_of(now()), line());
}

std::string description_of(const lexeme& item) {
  switch (item.kind) {
    case lexeme_kind::data:
      return "text";
    case lexeme_kind::statement_begin:
      return "'{%'";
    case lexeme_kind::statement_end:
      return "'%}'";
    case lexeme_kind::output_begin:
      return "'{{'";
    case lexeme_kind::output_end:
      return "'}}'";
    case lexeme_kind::string:
      return "a string";
    case lexeme_kind::end:
      return "the end of the template";
    default:
      return "'" + item.text + "'";
  }
}

}  // namespace cogen::text::jinja
