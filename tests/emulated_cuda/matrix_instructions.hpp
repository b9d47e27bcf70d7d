#pragma once

#include "block.hpp"
#include "network/kernels/device_numbers.cuh"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

// kernels/matrix_instructions.cuh without a GPU, with the same meanings.
namespace cogen::kernels::cuda {

template <int N>
words<N> load_streamed(const void* source, bool wanted) {
  words<N> x = {};
  if (wanted) std::memcpy(&x, source, sizeof x);
  return x;
}

inline float power_of_two(float x) { return x < -126 ? 0.0F : std::exp2(x); }

template <std::uint32_t Mask, std::uint32_t Bits>
std::uint32_t and_or(std::uint32_t x) {
  return (x & Mask) | Bits;
}

/// Products are exact in float, and a sum is rounded once more on the way to 16 bits.
template <class T, class Operation>
std::uint32_t each_half(Operation operation, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const float2 x = widen_word<T>(a), y = widen_word<T>(b), z = widen_word<T>(c);
  return word_of<T>(operation(x.x, y.x, z.x), operation(x.y, y.y, z.y));
}

inline std::uint32_t multiply_add_f16(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return each_half<f16>([](float x, float y, float z) { return std::fma(x, y, z); }, a, b, c);
}
inline std::uint32_t multiply_add_bf16(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return each_half<bf16>([](float x, float y, float z) { return std::fma(x, y, z); }, a, b, c);
}
inline std::uint32_t subtract_f16(std::uint32_t a, std::uint32_t b) {
  return each_half<f16>([](float x, float y, float) { return x - y; }, a, b, 0);
}

inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(pointer) - emulated_cuda::shared_memory());
}

template <std::uint32_t Bytes>
std::byte* at_shared_address(std::uint32_t address) {
  if (address % Bytes != 0 || address + Bytes > emulated_cuda::max_shared_bytes)
    throw std::logic_error("not an address of " + std::to_string(Bytes) + " bytes in shared memory");
  return emulated_cuda::shared_memory() + address;
}

template <int N = 4>
words<N> load_shared(std::uint32_t address) {
  words<N> x;
  std::memcpy(&x, at_shared_address<4 * N>(address), sizeof x);
  return x;
}

inline void copy_streamed(std::uint32_t target, const void* source, bool wanted) {
  emulated_cuda::copy_later(at_shared_address<16>(target), wanted ? source : nullptr, 16);
}

inline void end_copies() { emulated_cuda::end_copies(); }

template <int N>
void wait_for_copies() {
  emulated_cuda::wait_for_copies(N);
}

/// What a lane has of both factors.
struct lane_factors {
  float a[4][2];
  float b[2][2];
};

template <class T>
void multiply_add(float (&c)[4], const words<4>& a, std::uint32_t b0, std::uint32_t b1) {
  lane_factors mine;
  const auto put = [](float(&target)[2], std::uint32_t word) {
    const float2 pair = widen_word<T>(word);
    target[0] = pair.x, target[1] = pair.y;
  };
  for (int i = 0; i < 4; ++i) put(mine.a[i], a.values[i]);
  put(mine.b[0], b0);
  put(mine.b[1], b1);
  const auto lanes = emulated_cuda::gather("multiply_add", 0xffffffff, mine);
  for (int i = 0; i < 4; ++i) {
    const int row = lanes.lane / 4, below = i / 2, column = lanes.lane % 4 * 2 + i % 2;
    for (int half = 0; half < 2; ++half)
      for (int pair = 0; pair < 4; ++pair) {
        const auto &left = lanes.get(row * 4 + pair).a[2 * half + below], &right = lanes.get(column * 4 + pair).b[half];
        c[i] += left[0] * right[0] + left[1] * right[1];
      }
  }
}

}  // namespace cogen::kernels::cuda
