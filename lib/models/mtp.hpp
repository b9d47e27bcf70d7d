#pragma once

#include "load/config_fields.hpp"
#include "models/model_spec.hpp"

namespace cogen::models {

/// A layer for multi-token prediction behind the last of the model's, with the same attention and with experts, as
/// DeepSeek-V3 names it, if the fields say that there is one. Of several it is the first. Copies of the embedding and
/// of the head that checkpoints have in it are not read.
void add_mtp_layer(model_spec& spec, const moe_spec& experts, const load::config_fields& fields,
                   const load::model_config& config);

}  // namespace cogen::models
