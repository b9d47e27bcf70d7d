#pragma once

#include "formats/text/range.hpp"
#include "formats/text/tokenizer_spec.hpp"

#include <vector>

namespace cogen::text {

/// The pieces of a text of `size` bytes that is split at `matches`, which are in order and do not overlap.
std::vector<range> split_at(const std::vector<range>& matches, std::size_t size, split_behavior behavior, bool invert);

}  // namespace cogen::text
