#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cogen::load {

/// The 32 bytes as big-endian numbers, first bytes first.
using sha256_digest = std::array<std::uint64_t, 4>;

/// SHA-256 (FIPS 180-4). For what must not collide, whoever chose it.
sha256_digest sha256(std::span<const std::byte> bytes) noexcept;
inline sha256_digest sha256(std::string_view text) noexcept { return sha256(std::as_bytes(std::span(text))); }

/// 64 hexadecimal digits.
std::string hexadecimal(const sha256_digest& digest);

}  // namespace cogen::load
