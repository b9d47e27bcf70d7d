#pragma once

#include "backend/cpu/forward_context.hpp"

#include <cogen/cache/cache.hpp>
#include <cogen/cache/kv_cache_spec.hpp>

#include <vector>

namespace cogen::nn {

/// The encoder inputs of one encode() as a cache that only the encoder's own attention uses: slot i is row i, and each
/// layer overwrites what the one before it stored. A cross layer, because every token of an encoder input attends to
/// all of it.
struct encoder_memory {
  cache::step step;
  cache::cache memory;
  std::vector<kernels::token_rows> rows;

  encoder_memory(const cpu::forward_context& context, const cache::kv_cache_spec& shape);
};

}  // namespace cogen::nn
