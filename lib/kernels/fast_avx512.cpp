#include "kernels/fast_body.hpp"
#include "kernels/fast_table.hpp"
#include "kernels/quantise_body.hpp"

namespace cogen::kernels {

const fast_table avx512_fast = {
    .quantise = quantise_row,
    .round = round_row,
    .multiply = multiply_fast,
    .multiply_bf16 = nullptr,
};

}  // namespace cogen::kernels
