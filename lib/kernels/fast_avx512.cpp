#define COGEN_KERNEL_TABLE avx512_fast
#include "kernels/fast_kernels_of_set.hpp"
