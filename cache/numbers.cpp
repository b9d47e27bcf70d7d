#include "numbers.hpp"

#include <cogen/detail/half.hpp>

#include <cstring>
#include <stdexcept>

namespace cogen::cache {
namespace {

template <auto bits_of>
void store(const float* source, std::int64_t count, std::byte* target, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = bits_of(source[i]);
    std::memcpy(target + i * stride * static_cast<std::int64_t>(sizeof(bits)), &bits, sizeof(bits));
  }
}

template <class Bits, auto number_of>
void load(const std::byte* source, std::int64_t count, float* target, std::int64_t stride) {
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, source + i * stride * static_cast<std::int64_t>(sizeof(bits)), sizeof(bits));
    target[i] = number_of(bits);
  }
}

float same(float number) { return number; }

[[noreturn]] void refuse_fp8() { throw std::logic_error("cache: fp8 is a format of caches on devices"); }

}  // namespace

void store_numbers(scalar type, const float* source, std::int64_t count, std::byte* target, std::int64_t stride) {
  switch (type) {
    case scalar::f32:
      return store<same>(source, count, target, stride);
    case scalar::f16:
      return store<f32_to_f16>(source, count, target, stride);
    case scalar::bf16:
      return store<f32_to_bf16>(source, count, target, stride);
    case scalar::fp8:
      refuse_fp8();
  }
}

void load_numbers(scalar type, const std::byte* source, std::int64_t count, float* target, std::int64_t stride) {
  switch (type) {
    case scalar::f32:
      return load<float, same>(source, count, target, stride);
    case scalar::f16:
      return load<std::uint16_t, f16_to_f32>(source, count, target, stride);
    case scalar::bf16:
      return load<std::uint16_t, bf16_to_f32>(source, count, target, stride);
    case scalar::fp8:
      refuse_fp8();
  }
}

}  // namespace cogen::cache
