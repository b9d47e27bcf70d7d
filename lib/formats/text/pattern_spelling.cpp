// Rewrites patterns from Oniguruma's Ruby syntax, which tokenizer files use, to PCRE2's.
#include "formats/text/pattern.hpp"
#include "formats/text/replacing.hpp"
#include "formats/text/scripts.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace cogen::text {
namespace {

// Unicode's White_Space property; PCRE2's own \s also takes U+180E.
constexpr std::string_view white_space =
    R"(\x09-\x0D\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

constexpr std::string_view not_white_space =
    R"(\x00-\x08\x0E-\x1F\x21-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";

// Letters, marks, digits, connectors, the characters that are alphabetic though no letters, and Latin-1's superscripts
// and fractions.
constexpr std::string_view word_characters =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})"
    R"(\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";

class rewriter {
 public:
  explicit rewriter(std::string_view source) : source_(source) {}

  std::string run() {
    while (position_ < source_.size()) step();
    return std::move(out_);
  }

 private:
  void step() {
    char c = source_[position_];
    if (c == '\\' && position_ + 1 < source_.size()) return escape();
    if (class_depth_ > 0 && source_.substr(position_, 2) == "&&") refuse("intersections of character classes");
    if (c == '[') return open_class();
    if (c == ']' && class_depth_ > 0) --class_depth_;
    copy(1);
  }

  void open_class() {
    if (class_depth_ > 0) {
      if (source_.substr(position_, 2) == "[:") return copy_posix_class();
      refuse("nested character classes");
    }
    ++class_depth_;
    copy(1);
    if (position_ < source_.size() && source_[position_] == '^') copy(1);
    if (position_ < source_.size() && source_[position_] == ']') copy(1);
  }

  void copy_posix_class() {
    auto end = source_.find(":]", position_);
    copy(end == std::string_view::npos ? 1 : end + 2 - position_);
  }

  void escape() {
    switch (source_[position_ + 1]) {
      case 's':
        return put_set(white_space, false);
      case 'S':
        return put_set(not_white_space, false);
      case 'w':
        return put_set(word_characters, false);
      case 'W':
        return put_set(word_characters, true);
      case 'h':
        return put_set("0-9a-fA-F", false);
      case 'H':
        return put_set("0-9a-fA-F", true);
      case 'u':
        return put_code_point();
      case 'b':
        return put_boundary(R"((?:(?<=[{0}])(?![{0}])|(?<![{0}])(?=[{0}])))");
      case 'B':
        return put_boundary(R"((?:(?<=[{0}])(?=[{0}])|(?<![{0}])(?![{0}])))");
      case 'p':
      case 'P':
        return put_property();
      default:
        return copy(2);
    }
  }

  void put_code_point() {
    constexpr std::size_t digits = 4;
    ((out_ += "\\x{") += source_.substr(position_ + 2, digits)) += '}';
    position_ = std::min(position_ + 2 + digits, source_.size());
  }

  // PCRE2's own boundary has other word characters. In a class it is a backspace.
  void put_boundary(std::string_view form) {
    if (class_depth_ > 0) return copy(2);
    text_budget budget(form.size());
    out_ += replaced(form, "{0}", word_characters, budget);
    position_ += 2;
  }

  // A script is one of PCRE2's `sc:`; without that it would mean the characters that are used with the script.
  void put_property() {
    const auto begin = position_ + 3;
    const auto end = source_.find('}', position_);
    if (end == std::string_view::npos || begin > end || source_[position_ + 2] != '{') return copy(2);
    const auto negation = source_.substr(begin, source_[begin] == '^' ? 1 : 0);
    const auto name = source_.substr(begin + negation.size(), end - begin - negation.size());
    if (!is_script(name)) return copy(2);
    out_.append(source_.substr(position_, 3)).append(negation).append("sc:").append(name) += '}';
    position_ = end + 1;
  }

  void put_set(std::string_view set, bool negated) {
    if (class_depth_ > 0 && negated) refuse("negated sets inside a character class");
    if (class_depth_ > 0) {
      out_ += set;
    } else {
      (out_ += negated ? "[^" : "[").append(set) += ']';
    }
    position_ += 2;
  }

  void copy(std::size_t count) {
    out_ += source_.substr(position_, count);
    position_ += count;
  }

  [[noreturn]] void refuse(const char* syntax) const {
    throw std::invalid_argument("pattern \"" + std::string(source_) + "\" uses " + syntax + " at offset " +
                                std::to_string(position_) + ", which cogen does not know");
  }

  std::string_view source_;
  std::size_t position_ = 0;
  int class_depth_ = 0;
  std::string out_;
};

}  // namespace

std::string pcre_spelling(std::string_view source) { return rewriter(source).run(); }

std::string escaped_pattern(std::string_view literal) {
  std::string escaped;
  for (char c : literal) {
    if (std::ispunct(static_cast<unsigned char>(c))) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace cogen::text
