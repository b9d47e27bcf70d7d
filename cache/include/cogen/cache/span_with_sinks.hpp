#pragma once

#include <cogen/detail/cache/attention_span.hpp>
#include <cogen/detail/cache/kv_cache_spec.hpp>
#include <cogen/detail/cache/sink_window.hpp>

#include <optional>

namespace cogen::cache {

/// The span of a layer, where sinks apply to layers of full attention.
constexpr attention_span span_of(const kv_cache_spec& shape, const std::optional<sink_window>& sinks) {
  attention_span span = span_of(shape);
  if (shape.kind == layer_kind::full && sinks) {
    span.window = sinks->window;
    span.sinks = sinks->sinks;
  }
  return span;
}

}  // namespace cogen::cache
