#pragma once

#include "network/kernels/device_numbers.cuh"

#include <cstdint>

namespace cogen::kernels::cuda {

/// N words in a row, read and written at once.
template <int N>
struct alignas(4 * N) words {
  std::uint32_t values[N];
};

}  // namespace cogen::kernels::cuda

#ifndef __CUDACC__
#include "matrix_instructions.hpp"  // of tests/emulated_cuda: the same in plain C++
#else
// Single machine instructions that C++ has no name for.
namespace cogen::kernels::cuda {

/// Reads memory that is not worth keeping in the nearest cache, as it will not be read again. Where it is not `wanted`,
/// nothing is read and all words are 0.
template <int N>
__device__ inline words<N> load_streamed(const void* source, bool wanted) {
  words<N> x;
  if constexpr (N == 4)
    asm("{ .reg .pred p; setp.ne.b32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0;\n"
        "@p ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%0, %1, %2, %3}, [%4]; }"
        : "=&r"(x.values[0]), "=&r"(x.values[1]), "=&r"(x.values[2]), "=&r"(x.values[3])
        : "l"(source), "r"(static_cast<int>(wanted)));
  else if constexpr (N == 2)
    asm("{ .reg .pred p; setp.ne.b32 p, %3, 0; mov.b32 %0, 0; mov.b32 %1, 0;\n"
        "@p ld.global.nc.L1::no_allocate.L2::128B.v2.b32 {%0, %1}, [%2]; }"
        : "=&r"(x.values[0]), "=&r"(x.values[1])
        : "l"(source), "r"(static_cast<int>(wanted)));
  else
    asm("{ .reg .pred p; setp.ne.b32 p, %2, 0; mov.b32 %0, 0;\n"
        "@p ld.global.nc.L1::no_allocate.L2::128B.b32 %0, [%1]; }"
        : "=&r"(x.values[0])
        : "l"(source), "r"(static_cast<int>(wanted)));
  return x;
}

/// 2^x to about 2^-22 of itself; 0 below -126.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// (x & Mask) | Bits
template <std::uint32_t Mask, std::uint32_t Bits>
__device__ inline std::uint32_t and_or(std::uint32_t x) {
  std::uint32_t y;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(y) : "r"(x), "n"(Mask), "n"(Bits));
  return y;
}

/// a * b + c and a - b, for two numbers in each word.
__device__ inline std::uint32_t multiply_add_f16(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t x;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "r"(c));
  return x;
}
__device__ inline std::uint32_t multiply_add_bf16(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t x;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(x) : "r"(a), "r"(b), "r"(c));
  return x;
}
__device__ inline std::uint32_t subtract_f16(std::uint32_t a, std::uint32_t b) {
  std::uint32_t x;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(x) : "r"(a), "r"(b));
  return x;
}

/// An address within shared memory: arithmetic with it takes fewer instructions than that of a pointer.
__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

template <int N = 4>
__device__ inline words<N> load_shared(std::uint32_t address) {
  words<N> x;
  if constexpr (N == 4)
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.values[0]), "=r"(x.values[1]), "=r"(x.values[2]), "=r"(x.values[3])
                 : "r"(address)
                 : "memory");
  else if constexpr (N == 2)
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(x.values[0]), "=r"(x.values[1]) : "r"(address) : "memory");
  else
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(x.values[0]) : "r"(address) : "memory");
  return x;
}

/// Begins to copy 16 bytes from global memory to an address in shared memory; zeros, where they are not `wanted`.
__device__ inline void copy_streamed(std::uint32_t target, const void* source, bool wanted) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :
               : "r"(target), "l"(source), "r"(wanted ? 16 : 0)
               : "memory");
}

/// The thread's copies since the last call belong together.
__device__ inline void end_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/// Waits for all of the thread's copies but those of the last N calls of end_copies(). The thread sees what they wrote;
/// others do not yet.
template <int N>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}

/// A warp's c [16, 8] += a [16, 16] b [16, 8], two numbers to a word. With g = lane / 4 and t = lane % 4, a lane holds
///   a: (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8), each with its right neighbor;
///   b: (2t, g), (2t + 8, g), each with the one below;
///   c: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1).
/// (PTX, "Matrix fragments for mma.m16n8k16".)
template <class T>
__device__ inline void multiply_add(float (&c)[4], const words<4>& a, std::uint32_t b0, std::uint32_t b1);

template <>
__device__ inline void multiply_add<bf16>(float (&c)[4], const words<4>& a, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.values[0]), "r"(a.values[1]), "r"(a.values[2]), "r"(a.values[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void multiply_add<f16>(float (&c)[4], const words<4>& a, std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.values[0]), "r"(a.values[1]), "r"(a.values[2]), "r"(a.values[3]), "r"(b0), "r"(b1));
}

}  // namespace cogen::kernels::cuda
#endif
