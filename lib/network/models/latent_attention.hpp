#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/family_fields.hpp"
#include "network/models/model_spec.hpp"

#include <cstdint>

namespace cogen::models {

/// The part of a head that is rotated stands for the head.
inline constexpr load::key_names latent_keys{.kv_heads = "", .head_dim = "qk_rope_head_dim", .sliding_window = ""};

/// What a family's configurations mean where they leave sizes out.
struct latent_defaults {
  std::int64_t nope_dim = 128;
  std::int64_t rope_dim = 64;
  std::int64_t value_dim = 128;  ///< 0: hidden / heads
  std::int64_t kv_rank = 512;
  std::int64_t q_rank = 1536;
};

/// Latent attention of the sizes in the fields, which rotates neighbors unless they say otherwise; scores are scaled by
/// 1 / sqrt of a query's width, and by YaRN's magnitude twice where a scaled rotation has an mscale_all_dim. Throws
/// load::load_error.
latent_attention_spec latent_attention(const load::config_fields& fields, const load::model_config& config,
                                       const latent_defaults& missing = {});

/// A decoder whose layers are that attention and Llama's feed-forward.
model_spec latent_decoder(const load::model_config& config, const latent_attention_spec& attention);

}  // namespace cogen::models
