#pragma once

#include "sampling/scratch.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace cogen {

inline constexpr float infinity = std::numeric_limits<float>::infinity();

/// A row of logits is read in blocks of this size; their maxima let later passes skip most of it.
constexpr std::size_t row_block = 64;

/// The entries of block `b` of a row [n]; the last block may be shorter.
template <typename T>
std::span<T> block_of(std::span<T> row, std::size_t b) {
  return row.subspan(b * row_block, std::min(row_block, row.size() - b * row_block));
}

/// What one pass over a row finds.
struct row_scan {
  float largest;
  bool finite;  ///< no entry is NaN or plus infinity
};

/// Reads `logits` [n] once and writes the largest of each block to `maxima` [ceil(n / row_block)].
row_scan scan_row(std::span<const float> logits, std::vector<float>& maxima);

/// Index of the first entry equal to `largest`, which must be one of the block maxima.
std::size_t first_equal(std::span<const float> logits, std::span<const float> maxima, float largest);

/// Replaces `candidates` by the entries that are at least `bound` and not minus infinity, in order of ids, with weight
/// 0.
void collect_at_least(std::span<const float> logits, std::span<const float> maxima, float bound,
                      std::vector<candidate>& candidates);

/// Replaces `scratch.candidates` by all entries that are at least the `count`-th largest, in order of ids; a few
/// smaller ones may be among them. `scratch.block_maxima` must be those of `logits`.
void collect_about_largest(std::span<const float> logits, std::size_t count, sampling_scratch& scratch);

/// Replaces `scratch.candidates` by the `count` largest entries, or all that are not minus infinity if those are fewer:
/// larger ones first, lower ids first among equals. `scratch.block_maxima` must be those of `logits`.
void collect_largest(std::span<const float> logits, std::size_t count, sampling_scratch& scratch);

/// Larger logits first, lower ids first among equals.
inline bool ranks_before(const candidate& a, const candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

}  // namespace cogen
