#define COGEN_KERNEL_TABLE avx2_fast
#include "kernels/fast_kernels_of_set.hpp"
