#pragma once

#include <boost/json/value.hpp>

#include <compare>
#include <concepts>
#include <cstdint>

namespace cogen::grammar {

/// A number of JSON, an integer of 64 bits or a double, which compares by its exact value on every processor.
class exact_number {
 public:
  constexpr exact_number(double value) noexcept : nearest_(value) {}

  template <std::integral Integer>
  constexpr exact_number(Integer value) noexcept {
    const bool negative = value < 0;
    const auto bits = static_cast<std::uint64_t>(value);
    const std::uint64_t magnitude = negative ? 0 - bits : bits;
    nearest_ = static_cast<double>(magnitude);
    const std::uint64_t rounded = nearest_ < 0x1p64 ? static_cast<std::uint64_t>(nearest_) : 0;
    rest_ = static_cast<double>(static_cast<std::int64_t>(magnitude - rounded));
    if (!negative) return;
    nearest_ = -nearest_;
    rest_ = -rest_;
  }

  static exact_number from_json(const boost::json::value& value) {
    if (value.is_int64()) return value.get_int64();
    if (value.is_uint64()) return value.get_uint64();
    return value.get_double();
  }

  friend constexpr auto operator<=>(const exact_number&, const exact_number&) = default;

 private:
  // No double is between an integer and the nearest one, so what rounding left out decides among equals.
  double nearest_ = 0;
  double rest_ = 0;
};

}  // namespace cogen::grammar
