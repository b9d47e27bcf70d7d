#define COGEN_EMULATED_LANES 8
#define COGEN_EMULATED_PAIRS
#define COGEN_KERNEL_TABLE emulated_avx2_int8
#include "network/kernels/int8_kernels_of_set.hpp"
