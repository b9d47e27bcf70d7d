#define COGEN_EMULATED_LANES 16
#include "kernels/fast_bf16_body.hpp"
#include "kernels/fast_table.hpp"

namespace cogen::kernels {

void emulated_avx512_multiply_bf16(const fast_job& job) { multiply_bf16(job); }

}  // namespace cogen::kernels
