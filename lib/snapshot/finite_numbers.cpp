#include "snapshot/finite_numbers.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

namespace cogen::detail {
namespace {

/// Whether none of the numbers has all bits of its exponent.
template <class Bits>
bool none_has(Bits exponent, std::span<const std::byte> numbers) {
  bool found = false;
  for (std::size_t at = 0; at + sizeof(Bits) <= numbers.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, numbers.data() + at, sizeof(bits));
    found |= (bits & exponent) == exponent;
  }
  return !found;
}

bool are_finite(cache::scalar type, std::span<const std::byte> numbers) {
  switch (type) {
    case cache::scalar::f32:
      return none_has<std::uint32_t>(0x7f800000, numbers);
    case cache::scalar::f16:
      return none_has<std::uint16_t>(0x7c00, numbers);
    case cache::scalar::bf16:
      return none_has<std::uint16_t>(0x7f80, numbers);
    default:
      return true;
  }
}

bool is_finite(const cache::layer& of, std::span<const std::byte> exported, int length) {
  if (of.shape().kind == cache::layer_kind::recurrent) return are_finite(cache::scalar::f32, exported);
  for (const auto& run : of.exported_runs(length)) {
    const auto bytes = static_cast<std::size_t>(run.bytes);
    if (run.type && !are_finite(*run.type, exported.first(bytes))) return false;
    exported = exported.subspan(bytes);
  }
  return true;
}

}  // namespace

bool is_finite(const cache::cache& of, std::span<const std::byte> exported, int length, int encoder_input) {
  std::set<const void*> seen;
  for (const bool of_encoder : {false, true})
    for (int index = 0; index < of.layers(); ++index) {
      const auto& layer = of.layer(index);
      if ((layer.shape().kind == cache::layer_kind::cross) != of_encoder || !seen.insert(layer.storage()).second)
        continue;
      const int held = of_encoder ? encoder_input : length;
      const auto bytes = static_cast<std::size_t>(layer.exported_bytes(held));
      if (bytes > exported.size()) return true;
      if (!is_finite(layer, exported.first(bytes), held)) return false;
      exported = exported.subspan(bytes);
    }
  return true;
}

}  // namespace cogen::detail
