#pragma once

#include <cogen/detail/cache/kv_cache_spec.hpp>

namespace cogen::cache {

/// Which keys a query at position q attends to in a layer: those at p <= q (all, if not `causal`) with p > q - window
/// and p < q + window (window 0: no limit) and p / chunk == q / chunk (chunk 0: no limit), and always those with p <
/// sinks.
///
/// Scores with keys p < sinks use the distance inside the cache: the query's position counts as at most sinks + window
/// - 1 (Xiao et al., StreamingLLM, arXiv:2309.17453).
struct attention_span {
  bool causal = true;
  int window = 0;
  int chunk = 0;
  int sinks = 0;  ///< at most 64, and only with a window
};

/// The span that the model's layer itself requires.
constexpr attention_span span_of(const kv_cache_spec& shape) {
  return {.causal = shape.kind != layer_kind::cross,
          .window = shape.kind == layer_kind::sliding ? shape.window : 0,
          .chunk = shape.kind == layer_kind::chunked ? shape.window : 0};
}

/// The first position, sinks apart, that a query at `position` attends to.
constexpr int first_seen(const attention_span& span, int position) {
  const int by_window = span.window > 0 && position >= span.window ? position + 1 - span.window : 0;
  const int by_chunk = span.chunk > 0 ? position / span.chunk * span.chunk : 0;
  return by_window > by_chunk ? by_window : by_chunk;
}

}  // namespace cogen::cache
