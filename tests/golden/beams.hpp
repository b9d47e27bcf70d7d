#pragma once

#include "golden.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/model.hpp>

#include <vector>

namespace cogen::golden {

/// The `width` most probable continuations of `length` tokens that a beam search finds, best first, in a loop over
/// forward(): every beam has a slot, one that goes on in two ways is forked, one that does not go on is cleared. Slot 0
/// holds what is continued; `scores` are the logits after that. The cache has `width` slots.
std::vector<beam> beam_search(const model& model, cache::cache& cache, workspace& workspace, std::vector<float> scores,
                              int width, int length);

}  // namespace cogen::golden
