#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace server::kv_events {

/// Writes values as MessagePack, each in its shortest form: https://github.com/msgpack/msgpack/blob/master/spec.md.
class msgpack_writer {
 public:
  void nil() { byte(0xc0); }

  void number(std::uint64_t value) {
    if (value < 0x80) return byte(value);
    const int log = value < 0x100 ? 0 : value < 0x10000 ? 1 : value < 0x100000000 ? 2 : 3;
    byte(0xccu + static_cast<unsigned>(log));
    bytes(value, 1 << log);
  }

  void number(double value) {
    byte(0xcb);
    bytes(std::bit_cast<std::uint64_t>(value), 8);
  }

  void text(std::string_view value) {
    const auto size = value.size();
    size < 32 ? byte(0xa0 + size) : size < 0x100 ? sized(0xd9, size, 1) : longer(0xda, size);
    written_ += value;
  }

  /// So many values follow.
  void array(std::size_t size) { size < 16 ? byte(0x90 + size) : longer(0xdc, size); }

  /// So many pairs of a key and a value follow.
  void map(std::size_t size) { size < 16 ? byte(0x80 + size) : longer(0xde, size); }

  std::string take() { return std::move(written_); }

 private:
  void byte(std::uint64_t value) { written_ += static_cast<char>(value); }

  void bytes(std::uint64_t value, int count) {  // the highest first
    for (int i = count; i-- > 0;) byte(value >> (8 * i) & 0xff);
  }

  void sized(unsigned kind, std::size_t size, int count) {
    byte(kind);
    bytes(size, count);
  }

  void longer(unsigned kind, std::size_t size) { size < 0x10000 ? sized(kind, size, 2) : sized(kind + 1, size, 4); }

  std::string written_;
};

}  // namespace server::kv_events
