#pragma once

#include <cogen/cache/layer_shape.hpp>
#include <cogen/cache/sight.hpp>
#include <cogen/cache/sink_window.hpp>

#include <optional>

namespace cogen::cache {

/// What queries of the layer see where layers that would see every token have sinks.
constexpr sight sight_of(const layer_shape& shape, const std::optional<sink_window>& sinks) {
  sight sees = sight_of(shape);
  if (shape.kind == layer_kind::full && sinks) {
    sees.window = sinks->window;
    sees.sinks = sinks->sinks;
  }
  return sees;
}

}  // namespace cogen::cache
