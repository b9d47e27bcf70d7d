#define COGEN_EMULATED_LANES 16
#define COGEN_KERNEL_TABLE emulated_avx512_kernels
#include "network/kernels/kernels_of_set.hpp"
