#include "kernels/int8_amx_body.hpp"
#include "kernels/int8_table.hpp"

namespace cogen::kernels {

void amx_multiply(const int8_job& job) { multiply_amx(job, avx512_vnni_int8); }

}  // namespace cogen::kernels
