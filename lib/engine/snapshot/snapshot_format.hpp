#pragma once

#include <cogen/cache/cache.hpp>
#include <cogen/engine_options.hpp>

#include <optional>
#include <string>

namespace cogen::detail {

// Everything, except the model, that determines the bytes of a slot.

/// How keys and values are stored.
std::string format_of(const cache::options& options);

/// The same of what is quantized and dropped alone.
std::string format_of(const std::optional<cache::quantization>& codecs, const std::optional<cache::sink_window>& sinks);

std::string snapshot_format(const cache::options& options, const cache::cache& cache, bool layer_factory,
                            compute_type mode);

}  // namespace cogen::detail
