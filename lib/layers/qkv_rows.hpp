#pragma once

#include "layers/matrix_rows.hpp"
#include "models/model_spec.hpp"

#include <string>
#include <vector>

namespace cogen::layers {

/// Where a checkpoint has the rows of queries, keys and values, in the order q | k | v of halves that are rotated
/// together: neighbors that the model rotates are taken apart. Names get the prefix and no suffix.
std::vector<named_rows> qkv_rows(const models::attention_spec& spec, const std::string& prefix);

/// The same order of the elements of one head.
std::vector<row_run> head_order(const models::attention_spec& spec);

}  // namespace cogen::layers
