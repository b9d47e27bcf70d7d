#define COGEN_EMULATED_LANES 8
#define COGEN_KERNEL_TABLE emulated_avx2_kernels
#include "network/kernels/kernels_of_set.hpp"
