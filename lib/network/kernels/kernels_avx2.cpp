#define COGEN_KERNEL_TABLE avx2_kernels
#include "network/kernels/kernels_of_set.hpp"
