#pragma once

#include "network/kernels/instruction_set.hpp"
#include "network/kernels/int8_table.hpp"
#include "network/kernels/kernel_table.hpp"

namespace cogen::kernels {

/// The functions compiled for an instruction set, which must be available.
const kernel_table& kernels_of(instruction_set set);
const int8_table& int8_kernels_of(instruction_set set);

}  // namespace cogen::kernels
