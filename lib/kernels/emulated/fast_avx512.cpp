#define COGEN_EMULATED_LANES 16
#define COGEN_EMULATED_PAIRS
#define COGEN_KERNEL_TABLE emulated_avx512_fast
#include "kernels/fast_kernels_of_set.hpp"
