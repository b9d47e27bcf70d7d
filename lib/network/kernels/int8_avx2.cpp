#define COGEN_KERNEL_TABLE avx2_int8
#include "network/kernels/int8_kernels_of_set.hpp"
