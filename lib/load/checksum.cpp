#include "load/checksum.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cogen::load {
namespace {

constexpr std::uint64_t prime1 = 0x9e3779b185ebca87;
constexpr std::uint64_t prime2 = 0xc2b2ae3d27d4eb4f;
constexpr std::uint64_t prime3 = 0x165667b19e3779f9;
constexpr std::uint64_t prime4 = 0x85ebca77c2b2ae63;
constexpr std::uint64_t prime5 = 0x27d4eb2f165667c5;

template <class Word>
std::uint64_t word(const std::byte* from) noexcept {
  static_assert(std::endian::native == std::endian::little);
  Word result;
  std::memcpy(&result, from, sizeof(result));
  return result;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) noexcept {
  return std::rotl(lane + input * prime2, 31) * prime1;
}

std::uint64_t scattered(std::uint64_t hash) noexcept {
  hash = (hash ^ (hash >> 33)) * prime2;
  hash = (hash ^ (hash >> 29)) * prime3;
  return hash ^ (hash >> 32);
}

}  // namespace

void checksum::mix(const std::byte* from) noexcept {
  for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i] = round(lanes_[i], word<std::uint64_t>(from + 8 * i));
}

void checksum::add(std::span<const std::byte> bytes) noexcept {
  const auto held = static_cast<std::size_t>(length_ % stripe);
  length_ += bytes.size();
  if (held > 0) {
    const auto taken = std::min(stripe - held, bytes.size());
    std::copy_n(bytes.data(), taken, rest_.data() + held);
    if (held + taken < stripe) return;
    mix(rest_.data());
    bytes = bytes.subspan(taken);
  }
  for (; bytes.size() >= stripe; bytes = bytes.subspan(stripe)) mix(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
}

std::uint64_t checksum::value() const noexcept {
  std::uint64_t hash = prime5;
  if (length_ >= stripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) + std::rotl(lanes_[3], 18);
    for (const auto lane : lanes_) hash = (hash ^ round(0, lane)) * prime1 + prime4;
  }
  hash += length_;
  const auto* at = rest_.data();
  const auto* const end = at + length_ % stripe;
  for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ round(0, word<std::uint64_t>(at)), 27) * prime1 + prime4;
  if (end - at >= 4) {
    hash = std::rotl(hash ^ (word<std::uint32_t>(at) * prime1), 23) * prime2 + prime3;
    at += 4;
  }
  for (; at != end; ++at) hash = std::rotl(hash ^ (word<std::uint8_t>(at) * prime5), 11) * prime1;
  return scattered(hash);
}

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept {
  checksum sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace cogen::load
