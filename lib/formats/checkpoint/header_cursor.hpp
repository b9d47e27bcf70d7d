#pragma once

#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace cogen::load {

/// Reads a binary header from front to back, little-endian, through a small buffer. Nothing is allocated from a length
/// or count that the file claims before the bytes that remain were seen to hold it. Throws load_error.
class header_cursor {
 public:
  explicit header_cursor(const input_file& file) : file_(file) {}

  /// What is read from now on, for messages: "tensor 3 ('x')".
  void enter(std::string place) { place_ = std::move(place); }
  const std::string& place() const noexcept { return place_; }

  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return file_.size() - position_; }

  template <class Number>
    requires std::is_arithmetic_v<Number>
  Number number(std::string_view name) {
    Number value;
    bytes(std::as_writable_bytes(std::span(&value, 1)), name);
    return value;
  }

  /// A 64-bit count of things of at least `smallest` bytes each.
  std::uint64_t count(std::string_view name, std::uint64_t smallest, std::uint64_t limit);

  /// A 64-bit length and so many bytes.
  std::string text(std::string_view name, std::uint64_t limit);

  void bytes(std::span<std::byte> out, std::string_view name);

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    load::refuse(file_.name(), "{}: {}", place_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void fill_buffer();

  const input_file& file_;
  std::string place_ = "header";
  std::uint64_t position_ = 0;
  std::array<std::byte, 1 << 16> buffer_{};
  std::span<const std::byte> ahead_;
};

}  // namespace cogen::load
