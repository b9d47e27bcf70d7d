#pragma once

#include "network/kernels/simd.hpp"

// Integer products of the instruction set for which the including file is compiled, as `dots`, private to that file.
//
// sums_of<Bits> sums weights (0 up to 2^Bits - 1, of 8 bits biased by 128) times codes, four to a lane and call, over
// up to eight calls: begin(s), add()..., finish(sum, s), where s is sum_start, less what the weights' zero owes
// (activation_group::starts). All sets give the same integers.
//
// A quad is four numbers of 15 bits, a byte_quad four of 8; store_quads() takes them as the sum with 1.5 * 2^23 has
// them in its low bits. Their `sum` sums products with codes, four to a lane, of bytes that spread() was given.
#if defined(COGEN_SIMD_AVX512)
#include "network/kernels/dots_avx512.hpp"
#elif defined(COGEN_SIMD_AVX2)
#include "network/kernels/dots_avx2.hpp"
#else
#include "network/kernels/dots_portable.hpp"
#endif

namespace cogen::kernels {
namespace {

// Of weights that are unpacked to bytes, for several rows to multiply.
constexpr int panel_lanes = 2 * simd::width;
constexpr int panel_quad_bytes = 4 * panel_lanes;

}  // namespace
}  // namespace cogen::kernels
