#pragma once

#include <string_view>
#include <vector>

namespace cogen::kernels {

/// The variants in which every kernel exists, slowest first. Results are bit-identical within one, not between two.
///
/// avx2 stands for AVX2 + FMA + F16C, avx512 for AVX-512 F/BW/DQ/VL on top, avx512_vnni for VNNI and BF16 on top of
/// that: they speed up numerics::fast, and with numerics::exact the two are the same.
enum class instruction_set { portable, avx2, avx512, avx512_vnni };

/// "portable", "avx2", "avx512", "avx512_vnni".
std::string_view name_of(instruction_set set);

/// What this build and this processor both have, slowest first; never empty.
std::vector<instruction_set> available_instruction_sets();

/// The one that the name stands for.
/// Throws std::invalid_argument if the name is unknown, or names one that is not available here.
instruction_set instruction_set_named(std::string_view name);

/// The fastest one available, or the one that the environment variable COGEN_INSTRUCTION_SET names.
/// Throws std::invalid_argument as above. Any thread.
instruction_set preferred_instruction_set();

}  // namespace cogen::kernels
