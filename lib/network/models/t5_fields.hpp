#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>
#include <string>

namespace cogen::models {

/// What a T5 (Raffel et al., arXiv:1910.10683) has besides the sizes of its decoder.
struct t5_fields {
  std::int64_t encoder_layers = 0;
  std::string activation = {};
  bool gated = false;             // the feed-forwards
  std::int64_t buckets = 0;       // of distances; even, and at least 4
  std::int64_t max_distance = 0;  // those from here on share a bucket; more than half of buckets
  bool scaled_head = false;       // hidden states are divided by the square root of their width, and embeddings tied
};

/// Throws load_error.
t5_fields read_t5_fields(const load::config_fields& fields, const load::model_config& config);

}  // namespace cogen::models
