#define COGEN_EMULATED_LANES 16
#define COGEN_KERNEL_TABLE emulated_avx512_vnni_fast
#include "kernels/fast_kernels_of_set.hpp"
