#pragma once

#include "kernels/simd.hpp"

// Integer products of the instruction set for which the including file is compiled, as `dots`, private to that file.
//
// `nibbles` and `bytes` sum weights (0..15, or 0..255 biased by 128) times codes, four to a lane and call, over up to
// eight calls: start(c), add()..., finish(sum, c), where c is what the bias owes (activation_group::minus_8, minus_128,
// or 0). All sets give the same integers.
#if defined(COGEN_SIMD_AVX512)
#include "kernels/dots_avx512.hpp"
#elif defined(COGEN_SIMD_AVX2)
#include "kernels/dots_avx2.hpp"
#else
#include "kernels/dots_portable.hpp"
#endif
