#include <cogen/load/sha256.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace cogen::load {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::size_t size_bytes = 8;

using words = std::array<std::uint32_t, 8>;

// The first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the cube roots of the
// first 64.
constexpr words initial{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr std::array<std::uint32_t, 64> constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

std::array<std::uint32_t, 64> schedule(const std::byte* bytes) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = big_endian(bytes + 4 * i);
  for (std::size_t i = 16; i < w.size(); ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  return w;
}

void compress(words& state, const std::byte* bytes) {
  const auto w = schedule(bytes);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint32_t t1 =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i];
    const std::uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const words added{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

/// What is left, a one bit, zeros, and the number of all bits.
void finish(words& state, std::span<const std::byte> rest, std::uint64_t bits) {
  std::array<std::byte, 2 * block_bytes> last{};
  auto* const bytes = last.data();
  std::ranges::copy(rest, bytes);
  bytes[rest.size()] = std::byte{0x80};
  const std::size_t end = rest.size() + 1 + size_bytes <= block_bytes ? block_bytes : 2 * block_bytes;
  for (std::size_t i = 0; i < size_bytes; ++i) bytes[end - 1 - i] = static_cast<std::byte>(bits >> 8 * i);
  for (std::size_t offset = 0; offset < end; offset += block_bytes) compress(state, bytes + offset);
}

}  // namespace

sha256_digest sha256(std::span<const std::byte> bytes) noexcept {
  words state = initial;
  const std::size_t whole = bytes.size() / block_bytes * block_bytes;
  for (std::size_t offset = 0; offset < whole; offset += block_bytes) compress(state, bytes.data() + offset);
  finish(state, bytes.subspan(whole), std::uint64_t{8} * bytes.size());
  sha256_digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = std::uint64_t{state[2 * i]} << 32 | state[2 * i + 1];
  return digest;
}

std::string hexadecimal(const sha256_digest& digest) {
  return fmt::format("{:016x}{:016x}{:016x}{:016x}", digest[0], digest[1], digest[2], digest[3]);
}

}  // namespace cogen::load
