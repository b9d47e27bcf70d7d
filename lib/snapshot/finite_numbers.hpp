#pragma once

#include <cogen/cache/cache.hpp>

#include <cstddef>
#include <span>

namespace cogen::detail {

/// Whether the numbers of an exported slot of so many tokens, and so many of its encoder input, are finite: keys and
/// values that are not quantized, and recurrent states. Bytes that end too soon are not looked at. Any thread.
bool is_finite(const cache::cache& of, std::span<const std::byte> exported, int length, int encoder_input);

}  // namespace cogen::detail
