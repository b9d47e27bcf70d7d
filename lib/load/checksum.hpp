#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cogen::load {

/// XXH64 of bytes that come in pieces, with seed 0 (Collet, xxHash specification 0.1.1): it finds damage, not forgery.
class checksum {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }

  /// Of all bytes so far.
  std::uint64_t value() const noexcept;

 private:
  static constexpr std::size_t stripe = 32;

  void mix(const std::byte* from) noexcept;

  std::array<std::uint64_t, 4> lanes_{0x60ea27eeadc0b5d6, 0xc2b2ae3d27d4eb4f, 0, 0x61c8864e7a143579};
  std::array<std::byte, stripe> rest_{};  // of a stripe that is not whole yet
  std::uint64_t length_ = 0;
};

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept;

}  // namespace cogen::load
