// Spells floating-point numbers as Python does.
#include "text/jinja/conversions.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace cogen::text::jinja {
namespace {

struct decimal {
  std::string digits;
  int exponent;  // of the first digit
};

decimal shortest_decimal(double number) {
  std::array<char, 40> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific).ptr;
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  auto e = text.find('e');
  decimal result{std::string(1, text[0]), 0};
  if (e > 2) result.digits += text.substr(2, e - 2);
  auto exponent = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  return result;
}

std::string fixed(const decimal& number) {
  auto digits = static_cast<int>(number.digits.size());
  if (number.exponent < 0)
    return "0." + std::string(static_cast<std::size_t>(-number.exponent - 1), '0') + number.digits;
  auto whole = static_cast<std::size_t>(number.exponent) + 1;
  if (digits <= number.exponent + 1) return number.digits + std::string(whole - number.digits.size(), '0') + ".0";
  return number.digits.substr(0, whole) + "." + number.digits.substr(whole);
}

std::string scientific(const decimal& number) {
  auto mantissa = number.digits.substr(0, 1);
  if (number.digits.size() > 1) mantissa += "." + number.digits.substr(1);
  auto exponent = std::to_string(std::abs(number.exponent));
  if (exponent.size() < 2) exponent.insert(0, 1, '0');
  return mantissa + (number.exponent < 0 ? "e-" : "e+") + exponent;
}

}  // namespace

std::string spelled(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  auto parts = shortest_decimal(std::abs(number));
  auto text = parts.exponent >= -4 && parts.exponent < 16 ? fixed(parts) : scientific(parts);
  return std::signbit(number) ? "-" + text : text;
}

}  // namespace cogen::text::jinja
