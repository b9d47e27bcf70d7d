#pragma once

#include "network/kernels/execution.hpp"
#include "network/kernels/strided_rows.hpp"
#include "network/kernels/token_rows.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace cogen::kernels {

/// Cosines and sines of position * frequency, times the attention scaling, computed in double and kept as float32 for
/// the first positions; later ones are computed when asked for. Immutable; any thread may read. (Su et al.,
/// arXiv:2104.09864.)
class rope_table {
 public:
  /// One frequency (in radians per position) for each pair of rotated dimensions; positions [0, positions) are kept.
  /// Throws std::invalid_argument if either is empty.
  rope_table(std::span<const double> inverse_frequencies, double attention_scaling, std::int64_t positions);

  std::int64_t positions() const { return positions_; }
  int pairs() const { return pairs_; }
  /// cos [pairs], then sin [pairs]. Those of a position that is not kept are written to `spare` [2 * pairs].
  const float* angles(std::int64_t position, float* spare) const;

 private:
  std::vector<double> frequencies_;
  double scaling_ = 1;
  int pairs_ = 0;
  std::int64_t positions_ = 0;
  std::vector<float> values_;
};

/// Queries, keys and values of a step's tokens. Strides count floats between tokens; one buffer [tokens, q|k|v] is
/// usual.
struct qkv_operands {
  strided_rows<float> q = {};        // [tokens, heads, head_dim]
  strided_rows<const float> k = {};  // [tokens, kv_heads, head_dim]; null: nothing is written
  strided_rows<const float> v = {};  // [tokens, kv_heads, head_dim]; not read where the cache's keys hold the values
  int heads = 0;                     // query heads; kv_heads and head_dim are the cache's
  int first_rotated = 0;             // dimension of queries and keys; those before it stay as they are

  // Where a row's cache has sinks: the queries again, rotated to positions inside it.
  strided_rows<float> sink_q = {};  // [tokens, heads, head_dim]
};

/// Rotates queries in place, and writes rotated keys and unrotated values where each row's cache view says, rounded to
/// its number format (to nearest even).
///
/// From `first_rotated` on, dimension i < pairs is rotated with dimension i + pairs (Hugging Face's halves, not
/// interleaved); those behind these 2 * pairs stay as they are. A null table rotates nothing.
void rope_append(const execution& run, const rope_table* table, std::span<const token_rows> rows,
                 const qkv_operands& operands);

}  // namespace cogen::kernels
