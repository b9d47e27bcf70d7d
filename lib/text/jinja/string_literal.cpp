#include "text/jinja/string_literal.hpp"

#include "cogen/text/chat_template.hpp"
#include "text/utf8.hpp"

#include <charconv>
#include <cstdint>

namespace cogen::text::jinja {
namespace {

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
      throw template_error("a string has an escape that is no character", line_);
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

}  // namespace

std::string unescaped(std::string_view literal, std::size_t line) { return unescaper(literal, line).run(); }

}  // namespace cogen::text::jinja
