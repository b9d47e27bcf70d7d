#pragma once

#include "network/kernels/simd.hpp"

#include <cstddef>
#include <cstdint>

namespace cogen::kernels {
namespace {

/// Products of two bf16 numbers a lane, as VDPBF16PS defines them (Intel's Instruction Set Reference): the odd
/// elements' product is added to the sum, then the even ones', each with one rounding to nearest. Denormal inputs count
/// as zeros, and denormal results become zeros.
struct bf16_pairs {
  static simd::i broadcast(const std::byte* pair) {
    std::int32_t bits;
    __builtin_memcpy(&bits, pair, sizeof bits);
    return simd::set_bits(bits);
  }

#if defined(COGEN_SIMD_AVX512)
  // In assembly: the intrinsic's own vector type makes clang 16 crash.
  COGEN_INLINE static simd::f add(simd::f sum, simd::i weights, simd::i inputs) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(inputs));
    return sum;
  }
#else
  static simd::f add(simd::f sum, simd::i weights, simd::i inputs) {
    const simd::f odd = multiply_add(simd::high_bf16(weights), simd::high_bf16(inputs), sum);
    return multiply_add(simd::low_bf16(weights), simd::low_bf16(inputs), odd);
  }

 private:
  static simd::f multiply_add(simd::f a, simd::f b, simd::f c) {
    return flushed(simd::fused(flushed(a), flushed(b), flushed(c)));
  }
  static simd::f flushed(simd::f v) {
    const simd::i bits = simd::bits(v), sign = bits & static_cast<std::int32_t>(0x80000000);
    return simd::from_bits((bits & 0x7f800000) == 0 ? sign : bits);
  }
#endif
};

}  // namespace
}  // namespace cogen::kernels
