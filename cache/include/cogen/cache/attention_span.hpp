#pragma once

#include <cogen/cache/kv_cache_spec.hpp>

namespace cogen::cache {

/// Which keys a query at position q sees in a layer: those at p <= q (all, where not `causal`) with p > q - window
/// (window 0: no limit) and p / chunk == q / chunk (chunk 0: no limit), and those with p < sinks in any case.
///
/// A query's scores with keys p < sinks are taken at the distance that they have inside the cache: its position counts
/// as at most sinks + window - 1 there (Xiao et al., StreamingLLM, arXiv:2309.17453).
struct attention_span {
  bool causal = true;
  int window = 0;
  int chunk = 0;
  int sinks = 0;  ///< at most 64, and only with a window
};

/// What the model's layer asks for by itself.
constexpr attention_span span_of(const kv_cache_spec& shape) {
  return {.causal = shape.kind != layer_kind::cross,
          .window = shape.kind == layer_kind::sliding ? shape.window : 0,
          .chunk = shape.kind == layer_kind::chunked ? shape.window : 0};
}

/// The first position, sinks apart, that a query at `position` sees.
constexpr int first_seen(const attention_span& span, int position) {
  const int by_window = span.window > 0 && position >= span.window ? position + 1 - span.window : 0;
  const int by_chunk = span.chunk > 0 ? position / span.chunk * span.chunk : 0;
  return by_window > by_chunk ? by_window : by_chunk;
}

}  // namespace cogen::cache
