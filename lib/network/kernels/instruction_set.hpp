#pragma once

#include <string_view>
#include <vector>

namespace cogen::kernels {

/// The variants in which every kernel exists. Results are bit-identical within one, not between two.
///
/// avx2 stands for AVX2 + FMA + F16C, avx512 for AVX-512 F/BW/DQ/VL on top, avx512_vnni for VNNI on top of that,
/// avx512_bf16 for BF16 on top of both. The last two are avx512 with compute_type::float32, and differ with
/// compute_type::int8.
///
/// An emulated set computes the same bits in plain C++ on any processor, many times slower, so that tests cover sets
/// that the processor lacks. Builds with COGEN_EMULATION (those with tests) have them.
enum class instruction_set {
  portable,
  avx2,
  avx512,
  avx512_vnni,
  avx512_bf16,
  emulated_avx2,
  emulated_avx512,
  emulated_avx512_vnni,
  emulated_avx512_bf16,
};

/// The enumerator's name: "portable", "avx2", ..., "emulated_avx512_bf16".
std::string_view name_of(instruction_set set);

/// What this build and this processor both have, without emulation, in the order above; never empty.
std::vector<instruction_set> available_instruction_sets();

/// What this build can emulate; empty without COGEN_EMULATION.
std::vector<instruction_set> emulated_instruction_sets();

/// The one that the name stands for; if the processor lacks it, its emulation, where this build has that.
/// Throws std::invalid_argument if the name is unknown, or names one that is not available here.
instruction_set instruction_set_named(std::string_view name);

/// The one that the environment variable COGEN_INSTRUCTION_SET names, or the fastest one available: the last, but for
/// avx512_bf16, whose products Intel's processors (Sapphire Rapids, measured) run at half the speed of float32 ones.
/// Throws std::invalid_argument as above. Any thread.
instruction_set preferred_instruction_set();

}  // namespace cogen::kernels
