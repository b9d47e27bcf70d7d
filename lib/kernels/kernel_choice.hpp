#pragma once

#include "kernels/fast_table.hpp"
#include "kernels/instruction_set.hpp"
#include "kernels/kernel_table.hpp"

namespace cogen::kernels {

/// The functions compiled for an instruction set, which must be available.
const kernel_table& kernels_of(instruction_set set);
const fast_table& fast_kernels_of(instruction_set set);

}  // namespace cogen::kernels
