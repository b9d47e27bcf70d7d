#pragma once

#include "network/models/model_spec.hpp"
#include "network/weights/qkv_rows.hpp"

#include <vector>

namespace cogen::weights {

/// What scores of each head get by the position of their key, minus that of the query, from -max_distance to
/// max_distance: [heads, 2 * max_distance + 1]. Empty if the spec has no relative bias. Buckets: Raffel et al.,
/// arXiv:1910.10683, section 2.1.
std::vector<float> distance_biases(const models::attention_spec& spec, const read_numbers& read);

}  // namespace cogen::weights
