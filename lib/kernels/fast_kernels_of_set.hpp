#include "kernels/fast_body.hpp"
#include "kernels/fast_table.hpp"
#include "kernels/quantise_body.hpp"

// The table of the instruction set for which the including file is compiled, under the name COGEN_KERNEL_TABLE.
namespace cogen::kernels {

const fast_table COGEN_KERNEL_TABLE = {
    .quantise = quantise_row,
    .round = round_row,
    .multiply = multiply_fast,
    .multiply_bf16 = nullptr,
};

}  // namespace cogen::kernels
