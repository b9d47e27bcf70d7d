#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace cogen::detail {

template <class Number>
concept plain = std::is_trivially_copyable_v<Number>;

/// Appends plain values to a message between processes of the same program.
class message_writer {
 public:
  explicit message_writer(std::vector<std::byte>& buffer) : buffer_(buffer) {}

  void add(const plain auto& value) { add_bytes(std::as_bytes(std::span(&value, 1))); }

  /// Their number, then the values.
  template <plain Number>
  void add(std::span<const Number> values) {
    add(static_cast<std::uint64_t>(values.size()));
    add_bytes(std::as_bytes(values));
  }
  template <plain Number>
  void add(const std::vector<Number>& values) {
    add(std::span<const Number>(values));
  }
  void add(const std::string& text) { add(std::span<const char>(text)); }

  void add_bytes(std::span<const std::byte> bytes) { buffer_.insert(buffer_.end(), bytes.begin(), bytes.end()); }

 private:
  std::vector<std::byte>& buffer_;
};

/// Reads what message_writer has written, in the same order. Throws std::runtime_error for a message that is too short.
class message_reader {
 public:
  explicit message_reader(std::span<const std::byte> message) : rest_(message) {}

  void read(plain auto& value) { std::memcpy(&value, take(sizeof value).data(), sizeof value); }

  template <plain Number>
  void read(std::vector<Number>& values) {
    const auto count = read<std::uint64_t>();
    if (count > rest_.size() / sizeof(Number)) throw_short();
    values.resize(static_cast<std::size_t>(count));
    const auto bytes = take(values.size() * sizeof(Number));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  void read(std::string& text) {
    std::vector<char> characters;
    read(characters);
    text.assign(characters.begin(), characters.end());
  }

  template <class Value>
  Value read() {
    Value value{};
    read(value);
    return value;
  }

  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> take(std::size_t count) {
    if (count > rest_.size()) throw_short();
    const auto first = rest_.first(count);
    rest_ = rest_.subspan(count);
    return first;
  }

  [[noreturn]] static void throw_short() { throw std::runtime_error("a message from another rank is too short"); }

  std::span<const std::byte> rest_;
};

}  // namespace cogen::detail
