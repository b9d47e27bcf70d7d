#pragma once

#include <cogen/cache/kv_cache_spec.hpp>

#include <cstdint>

namespace cogen::models {

// Mixers that keep a state of fixed size instead of every token. Their tensors are called as in Transformers.

/// C * convolution(B * x) (Liquid AI, arXiv:2511.23404): "in_proj" makes B | C | x, "conv" is the convolution.
struct short_convolution_spec {
  std::int64_t channels = 0;
  std::int64_t taps = 0;  ///< tokens that the convolution reads, the present one included
  bool bias = false;      ///< of all three

  std::int64_t out_width() const { return channels; }
  cache::kv_cache_spec kv() const { return {.kind = cache::layer_kind::recurrent, .state = channels * (taps - 1)}; }
};

}  // namespace cogen::models
