#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/model_spec.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace cogen::models {

/// Tensors of the encoders of images and sounds in published files.
inline constexpr std::array<std::string_view, 4> gemma_encoders{"model.vision_tower.*", "model.audio_tower.*",
                                                                "model.embed_vision.*", "model.embed_audio.*"};

/// Vectors of each token for each layer: its own row and a product of its embedding, added and halved in their squares.
layer_inputs_spec layer_inputs(const load::config_fields& fields, const load::model_config& config, std::int64_t width);

/// The block of a layer that reads them.
block_spec layer_input(const load::model_config& config, std::int64_t layer, std::int64_t width);

}  // namespace cogen::models
