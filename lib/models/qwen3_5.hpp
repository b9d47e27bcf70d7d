#pragma once

#include "models/families.hpp"

#include <cstdint>
#include <string_view>

namespace cogen::models {

inline constexpr load::key_names qwen3_5_moe_keys{.intermediate = "", .sliding_window = ""};

/// What the families with Qwen 3.5's mixers have in common.
constexpr load::family_fields qwen3_5_fields(std::string_view name, std::string_view architecture,
                                             std::int64_t kv_heads, const load::key_names& keys = no_window_keys) {
  return {.family = name,
          .gguf = {.architecture = architecture},
          .keys = keys,
          .kv_heads = kv_heads,
          .head_dim = 256,
          .max_positions = 32768,
          .partial_rotary = 0.25};
}

/// As checkpoints are published, with an encoder of images, which is not read.
model_spec beside_images(model_spec spec);

}  // namespace cogen::models
