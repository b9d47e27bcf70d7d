#define COGEN_EMULATED_LANES 16
#define COGEN_KERNEL_TABLE emulated_avx512_vnni_int8
#include "network/kernels/int8_kernels_of_set.hpp"
