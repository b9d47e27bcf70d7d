#pragma once

#include "network/backend/operators.hpp"

#include <memory>

namespace cogen::device {

/// The operators of `ops`, which are called for one row after the other: what a product or a sum is made of depends on
/// the shapes that a library is given, and those are always a single row's. What reads a whole text is called for that
/// text. For operators that work at once.
std::unique_ptr<operators> make_one_row_operators(std::unique_ptr<operators> ops);

}  // namespace cogen::device
