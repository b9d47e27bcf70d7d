#define COGEN_KERNEL_TABLE avx512_kernels
#include "network/kernels/kernels_of_set.hpp"
