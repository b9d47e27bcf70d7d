#pragma once

#include "network/kernels/token_rows.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/detail/cache/kv_cache_spec.hpp>

#include <vector>

namespace cogen::nn {

/// Texts that an encoder reads, as a cache that only its own attention uses: slot i is row i, and each layer overwrites
/// what the one before it stored. A cross layer, because it holds whole texts.
struct encoder_memory {
  cache::step step;
  cache::cache memory;
  std::vector<kernels::token_rows> rows;

  /// For heads as in `shape`, whatever its kind is.
  encoder_memory(const cache::step& texts, const cache::kv_cache_spec& shape);
};

}  // namespace cogen::nn
