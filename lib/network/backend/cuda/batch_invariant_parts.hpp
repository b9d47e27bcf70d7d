#pragma once

#include "network/backend/operators.hpp"

#include <memory>
#include <string_view>

namespace cogen::device {

/// The operators of `ops`, but for parts in which they use those of LibTorch, whose sums depend on how many rows there
/// are: they throw std::invalid_argument, with the part's name.
std::unique_ptr<operators> make_batch_invariant_parts(std::unique_ptr<operators> ops);

/// Throws std::invalid_argument: such parts are not batch-invariant.
[[noreturn]] void refuse_batch_invariant(std::string_view parts);

}  // namespace cogen::device
