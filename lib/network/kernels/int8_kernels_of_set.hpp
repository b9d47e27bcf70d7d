#include "network/kernels/code_products_body.hpp"
#include "network/kernels/int8_body.hpp"
#include "network/kernels/int8_table.hpp"
#include "network/kernels/quantize_body.hpp"

// The table of the instruction set for which the including file is compiled, under the name COGEN_KERNEL_TABLE.
namespace cogen::kernels {

const int8_table COGEN_KERNEL_TABLE = {
    .quantize = quantize_row,
    .round = round_row,
    .multiply = multiply_int8,
    .multiply_bf16 = nullptr,
    .round_rows = round_rows,
    .multiply_codes = multiply_codes,
};

}  // namespace cogen::kernels
