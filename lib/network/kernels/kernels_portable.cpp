#define COGEN_KERNEL_TABLE portable_kernels
#include "network/kernels/kernels_of_set.hpp"
