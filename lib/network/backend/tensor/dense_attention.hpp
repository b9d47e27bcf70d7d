#pragma once

#include "network/backend/tensor/kept_tokens.hpp"

namespace cogen::device {

/// Some queries of each of some sequences.
struct queries {
  at::Tensor q;          ///< [sequences, queries, heads, head_dim] float32
  at::Tensor sink_q;     ///< the same, for sinks, or none
  at::Tensor positions;  ///< [sequences, queries] int64

  queries narrow(std::int64_t first, std::int64_t count) const;
};

/// Which positions [sequences, places] a span lets queries at `positions` [sequences, queries] see: [sequences,
/// queries, places]. Positions below 0 are never seen.
at::Tensor seen_in(const cache::attention_span& span, const at::Tensor& positions, const at::Tensor& kept);

/// What queries find in those kept tokens that `seen` [sequences, queries, places] names: [sequences, queries, heads,
/// width of a value]. Sinks, if queries have some of their own for them, are in the first places.
at::Tensor found(const queries& query, const kept_tokens& kept, const at::Tensor& seen, const attention_shape& shape,
                 std::int64_t sinks = 0);

}  // namespace cogen::device
