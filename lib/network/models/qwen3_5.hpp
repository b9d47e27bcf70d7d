#pragma once

#include "network/models/families.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace cogen::models {

inline constexpr load::default_sizes qwen3_5_sizes{
    .vocabulary = 248320, .hidden = 4096, .layers = 32, .heads = 16, .intermediate = 12288};
inline constexpr load::default_sizes qwen3_5_moe_sizes{.vocabulary = 248320, .hidden = 2048, .layers = 40, .heads = 16};
inline constexpr load::key_names qwen3_5_moe_keys{.intermediate = "", .sliding_window = ""};

/// What the families with Qwen 3.5's mixers have in common.
constexpr load::family_fields qwen3_5_fields(std::string_view name, std::string_view architecture,
                                             const load::default_sizes& sizes, std::int64_t kv_heads,
                                             const load::key_names& keys = no_window_keys) {
  return {.family = name,
          .sizes = sizes,
          .gguf = {.architecture = architecture},
          .keys = keys,
          .kv_heads = kv_heads,
          .head_dim = 256,
          .max_positions = 32768,
          .partial_rotary = 0.25};
}

/// The encoder of images in published files.
inline constexpr std::array<std::string_view, 1> qwen3_5_encoders{"model.visual.*"};

}  // namespace cogen::models
