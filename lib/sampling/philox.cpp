#include "sampling/philox.hpp"

namespace cogen {
namespace {

philox_counter round(const philox_counter& counter, const philox_key& key) {
  const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
  const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
  return {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
          static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
}

}  // namespace

philox_counter philox4x32_10(philox_counter counter, philox_key key) {
  for (int i = 0; i < 10; ++i) {
    counter = round(counter, key);
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

}  // namespace cogen
