#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "network/models/model_spec.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace cogen::models {

/// For each layer the layer of the cache that it shares: those behind the first `own` ones read that of the last of
/// these that slides as they do. Throws load::load_error if there is none.
std::vector<std::optional<int>> shared_kv_layers(const load::config_fields& fields, const std::vector<bool>& slides,
                                                 std::int64_t own);

/// Published files have keys and values of layers that do not use them.
void leave_kv_unread(model_spec& spec, std::int64_t layer);

}  // namespace cogen::models
