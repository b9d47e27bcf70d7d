#include "network/kernels/int8_bf16_body.hpp"
#include "network/kernels/int8_table.hpp"

namespace cogen::kernels {

void avx512_multiply_bf16(const int8_job& job) { multiply_bf16(job); }

}  // namespace cogen::kernels
