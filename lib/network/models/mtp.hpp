#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/model_spec.hpp"

#include <cstdint>

namespace cogen::models {

/// A layer for multi-token prediction behind the last of the model's, with the same attention and with experts, as
/// DeepSeek-V3 names it, if there are any: as many as the fields say, or `usual`. Of several it is the first. Copies of
/// the embedding and of the head that checkpoints have in it are not read.
void add_mtp_layer(model_spec& spec, const moe_spec& experts, const load::config_fields& fields,
                   const load::model_config& config, std::int64_t usual);

}  // namespace cogen::models
