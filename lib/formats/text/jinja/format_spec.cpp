#include "formats/text/jinja/format_spec.hpp"

#include "formats/text/jinja/conversions.hpp"
#include "formats/text/utf8.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace cogen::text::jinja {
namespace {

constexpr std::size_t widest = 1 << 20;
constexpr std::size_t max_digits = 1000;

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

/// Reads the parts of a specification in their order.
class spec_reader {
 public:
  spec_reader(renderer& run, std::string_view text) : run_(run), rest_(text) {}

  format_spec read() {
    read_alignment();
    if (is_next('+') || is_next('-') || is_next(' ')) spec_.sign = take();
    if (is_next('#')) spec_.alternate = take() == '#';
    if (is_next('0')) read_zero();
    spec_.width = read_number(widest).value_or(0);
    if (is_next(',') || is_next('_')) spec_.grouping = take();
    if (is_next('.')) read_precision();
    if (!rest_.empty()) spec_.type = take();
    if (!rest_.empty()) refuse();
    return spec_;
  }

 private:
  bool is_next(char c) const { return rest_.starts_with(c); }

  char take() {
    char taken = rest_[0];
    rest_.remove_prefix(1);
    return taken;
  }

  [[noreturn]] void refuse() const { run_.fail("'" + std::string(rest_) + "' is not understood in a format"); }

  void read_alignment() {
    if (rest_.empty()) return;
    auto fill = first_character(rest_).length;
    if (fill < rest_.size() && is_align(rest_[fill])) {
      spec_.fill = rest_.substr(0, fill);
      rest_.remove_prefix(fill);
      has_fill_ = true;
    }
    if (!rest_.empty() && is_align(rest_[0])) spec_.align = take();
  }

  void read_zero() {
    take();
    if (!has_fill_) spec_.fill = "0";
    if (spec_.align == '\0') pads_with_zeros_ = true;
    if (pads_with_zeros_) spec_.align = '0';
  }

  void read_precision() {
    take();
    spec_.precision = read_number(widest);
    if (!spec_.precision) run_.fail("a format has no precision after its point");
  }

  std::optional<std::size_t> read_number(std::size_t most) {
    std::size_t number = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (end == rest_.data()) return std::nullopt;
    if (error != std::errc{} || number > most) {
      run_.fail("a format exceeds the limit of " + std::to_string(most) + " characters");
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

  renderer& run_;
  std::string_view rest_;
  format_spec spec_;
  bool has_fill_ = false;
  bool pads_with_zeros_ = false;
};

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

/// `default_align` stands for an alignment that was not given; so does '0' for texts.
traced_text padded(renderer& run, const traced_text& text, const format_spec& spec, char default_align) {
  run.look_at(text.size());
  auto size = character_count(text.bytes());
  if (size >= spec.width) return text;
  auto missing = spec.width - size;
  run.charge(missing * spec.fill.size());
  auto align = spec.align == '\0' || spec.align == '0' ? default_align : spec.align;
  auto left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  traced_text result(repeated(spec.fill, left), true);
  result.append(text);
  result.append(repeated(spec.fill, missing - left), true);
  return result;
}

/// Digits in groups from the right, and with zeros at the left until they are `width` wide.
std::string grouped(std::string_view digits, char separator, std::size_t group, std::size_t width) {
  std::string reversed;
  for (std::size_t count = 0; count < digits.size() || reversed.size() < width; ++count) {
    if (separator != '\0' && count > 0 && count % group == 0) reversed += separator;
    reversed += count < digits.size() ? digits[digits.size() - 1 - count] : '0';
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

std::string sign_of(bool is_negative, char sign) {
  if (is_negative) return "-";
  return sign == '-' ? "" : std::string(1, sign);
}

/// A number in parts: `whole` is what is grouped and what zeros stand before.
struct number_parts {
  std::string sign;
  std::string prefix;
  std::string whole;
  std::string rest;
};

traced_text laid_out(renderer& run, const number_parts& number, const format_spec& spec) {
  auto around = number.sign.size() + number.prefix.size() + number.rest.size();
  bool has_zeros = (spec.align == '0' || spec.align == '=') && spec.fill == "0";
  auto width = has_zeros && spec.width > around ? spec.width - around : 0;
  run.charge(width);
  bool is_decimal = number.prefix.empty() &&
                    (spec.type == '\0' || std::string_view("dnfFeEgG%").find(spec.type) != std::string_view::npos);
  auto whole = grouped(number.whole, spec.grouping, is_decimal ? 3 : 4, width);
  traced_text head(number.sign + number.prefix, true);
  traced_text tail(whole + number.rest, true);
  if (spec.align == '=' && !has_zeros) {
    auto size = head.size() + tail.size();
    if (size < spec.width) {
      run.charge(spec.width * spec.fill.size());
      head.append(repeated(spec.fill, spec.width - size), true);
    }
  }
  head.append(tail);
  return padded(run, head, spec, '>');
}

std::string in_base(std::uint64_t number, int base) {
  char digits[64];
  auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
  return {digits, end};
}

std::string upper_case(std::string text) {
  for (auto& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

[[noreturn]] void refuse_type(renderer& run, char type, const value& object) {
  run.fail(std::string("the format '") + type + "' does not apply to " + kind_of(object));
}

int base_of(char type) { return type == 'b' ? 2 : type == 'o' ? 8 : type == 'x' || type == 'X' ? 16 : 10; }

traced_text formatted_character(renderer& run, std::int64_t code_point, const format_spec& spec) {
  bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < 0 || code_point > 0x10FFFF || is_surrogate) {
    run.fail("there is no character " + std::to_string(code_point));
  }
  if (spec.sign != '-' || spec.alternate) run.fail("a character has no sign");
  std::string text;
  append_utf8(text, static_cast<char32_t>(code_point));
  return padded(run, {text, true}, spec, '<');
}

bool is_real_type(char type) {
  return type != '\0' && std::string_view("eEfFgG%").find(type) != std::string_view::npos;
}

std::string printed(const char* format, std::size_t precision, double number) {
  std::string text(precision + 400, '\0');
  auto size = std::snprintf(text.data(), text.size(), format, static_cast<int>(precision), number);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

void drop_trailing_zeros(std::string& text) {
  auto exponent = text.find('e');
  auto mantissa = text.substr(0, exponent);
  if (mantissa.find('.') != std::string::npos) {
    mantissa.resize(mantissa.find_last_not_of('0') + 1);
    if (mantissa.ends_with('.')) mantissa.pop_back();
  }
  text = mantissa + (exponent == std::string::npos ? "" : text.substr(exponent));
}

/// Type g; without a type a point stands in every number, which leaves one digit less before an exponent is used.
std::string general_digits(double number, std::size_t precision, bool alternate, bool has_point) {
  auto digits = std::max<std::size_t>(precision, 1);
  auto text = printed("%.*e", digits - 1, number);
  auto exponent = std::stol(text.substr(text.find('e') + 1));
  auto limit = static_cast<long>(digits) - (has_point ? 1 : 0);
  if (exponent >= -4 && exponent < limit) {
    text = printed("%.*f", static_cast<std::size_t>(static_cast<long>(digits) - 1 - exponent), number);
  }
  if (!alternate) drop_trailing_zeros(text);
  bool is_plain = text.find('e') == std::string::npos && text.find('.') == std::string::npos;
  if (is_plain && (alternate || has_point)) text += alternate ? "." : ".0";
  return text;
}

std::string real_digits(double number, const format_spec& spec) {
  if (spec.type == '\0' && !spec.precision) return spelled(number);
  if (spec.type == '\0') return general_digits(number, *spec.precision, spec.alternate, true);
  char type = spec.type == '%' ? 'f' : spec.type == 'n' ? 'g' : static_cast<char>(spec.type | ' ');
  return digits_of(number, type, spec.precision.value_or(6), spec.alternate);
}

}  // namespace

format_spec parse_format_spec(renderer& run, std::string_view text) { return spec_reader(run, text).read(); }

std::string digits_of(double number, char type, std::size_t precision, bool alternate) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return "inf";
  if (type == 'g') return general_digits(number, precision, alternate, false);
  auto text = printed(type == 'e' ? "%.*e" : "%.*f", precision, number);
  if (alternate && precision == 0) text.insert(std::min(text.find('e'), text.size()), ".");
  return text;
}

traced_text formatted_text(renderer& run, const traced_text& text, const format_spec& spec) {
  if (spec.type != '\0' && spec.type != 's') refuse_type(run, spec.type, text);
  if (spec.sign != '-' || spec.alternate || spec.grouping != '\0' || spec.align == '=') {
    run.fail("a text is formatted by a fill, an alignment, a width and a precision alone");
  }
  run.look_at(text.size());
  auto size = character_count(text.bytes());
  if (!spec.precision || *spec.precision >= size) return padded(run, text, spec, '<');
  std::string_view bytes = text.bytes();
  std::size_t end = 0;
  for (std::size_t i = 0; i < *spec.precision; ++i) end += first_character(bytes.substr(end)).length;
  return padded(run, text.part(0, end), spec, '<');
}

traced_text formatted_integer(renderer& run, std::int64_t number, const format_spec& spec) {
  if (is_real_type(spec.type)) return formatted_real(run, static_cast<double>(number), spec);
  if (spec.precision) run.fail("an integer is formatted without a precision");
  if (spec.type == 'c') return formatted_character(run, number, spec);
  if (spec.type != '\0' && std::string_view("bdoxXn").find(spec.type) == std::string_view::npos) {
    refuse_type(run, spec.type, number);
  }
  auto base = base_of(spec.type);
  if (spec.grouping == ',' && (base != 10 || spec.type == 'n')) run.fail("a comma groups decimal digits alone");
  auto size = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  auto prefix = spec.alternate && base != 10 ? std::string("0") + spec.type : std::string();
  auto digits = in_base(size, base);
  auto as_decimal = spec;
  if (base != 10) as_decimal.type = 'x';
  return laid_out(run,
                  {.sign = sign_of(number < 0, spec.sign),
                   .prefix = prefix,
                   .whole = spec.type == 'X' ? upper_case(digits) : digits,
                   .rest = {}},
                  as_decimal);
}

traced_text formatted_real(renderer& run, double number, const format_spec& spec) {
  if (spec.type != '\0' && spec.type != 'n' && !is_real_type(spec.type)) refuse_type(run, spec.type, number);
  if (spec.precision.value_or(0) > max_digits) {
    run.fail("a format exceeds the limit of " + std::to_string(max_digits) + " digits");
  }
  if (spec.grouping == ',' && spec.type == 'n') run.fail("a comma does not group by the type 'n'");
  auto size = std::abs(spec.type == '%' ? number * 100 : number);
  auto digits = real_digits(size, spec);
  if (spec.type == '%') digits += '%';
  if (spec.type == 'E' || spec.type == 'G' || spec.type == 'F') digits = upper_case(digits);
  auto whole = std::isfinite(size) ? digits.find_first_not_of("0123456789") : std::string::npos;
  number_parts parts{.sign = sign_of(std::signbit(number) && !std::isnan(number), spec.sign),
                     .prefix = {},
                     .whole = digits.substr(0, whole),
                     .rest = whole == std::string::npos ? "" : digits.substr(whole)};
  if (std::isfinite(size)) return laid_out(run, parts, spec);
  auto plain = spec;
  plain.grouping = '\0';
  return laid_out(run, parts, plain);
}

traced_text formatted(renderer& run, const value& object, const format_spec& spec, bool is_empty) {
  if (is_empty) return as_text(run, object);
  if (auto* text = object.text()) return formatted_text(run, *text, spec);
  if (auto number = object.integer()) return formatted_integer(run, *number, spec);
  if (auto number = object.number()) return formatted_real(run, *number, spec);
  run.fail(kind_of(object) + " takes no format but an empty one");
}

}  // namespace cogen::text::jinja
