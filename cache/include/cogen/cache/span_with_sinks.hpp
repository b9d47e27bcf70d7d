#pragma once

#include <cogen/cache/attention_span.hpp>
#include <cogen/cache/kv_cache_spec.hpp>
#include <cogen/cache/sink_window.hpp>

#include <optional>

namespace cogen::cache {

/// What queries of the layer see where layers that would see every token have sinks.
constexpr attention_span span_of(const kv_cache_spec& shape, const std::optional<sink_window>& sinks) {
  attention_span span = span_of(shape);
  if (shape.kind == layer_kind::full && sinks) {
    span.window = sinks->window;
    span.sinks = sinks->sinks;
  }
  return span;
}

}  // namespace cogen::cache
