#define COGEN_KERNEL_TABLE avx512_vnni_fast
#include "kernels/fast_kernels_of_set.hpp"
