#pragma once

#include <cogen/detail/cache/view.hpp>

#include <cstddef>
#include <cstdint>

namespace cogen::cache {

/// Writes `count` numbers in this format, rounded to nearest even, `stride` numbers apart. Throws std::logic_error for
/// fp8, which only caches on a device keep.
void store_numbers(scalar type, const float* source, std::int64_t count, std::byte* target, std::int64_t stride = 1);

/// Reads `count` numbers that lie `stride` numbers apart: exact. Throws likewise.
void load_numbers(scalar type, const std::byte* source, std::int64_t count, float* target, std::int64_t stride = 1);

}  // namespace cogen::cache
