#define COGEN_KERNEL_TABLE portable_kernels
#include "kernels/kernels_of_set.hpp"
