#define COGEN_KERNEL_TABLE portable_fast
#include "kernels/fast_kernels_of_set.hpp"
