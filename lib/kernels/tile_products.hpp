#pragma once

// Products of tiles of bytes, as `tile_products`, private to the including file: by AMX, or by plain code that stands
// for it.
#if defined(COGEN_SIMD_AMX)
#include "kernels/tile_products_amx.hpp"
#else
#include "kernels/tile_products_plain.hpp"
#endif
