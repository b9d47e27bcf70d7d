#pragma once

#include "formats/checkpoint/tensor_file.hpp"

#include <cstdint>

namespace cogen::load {

/// Checks that g_idx, i32 [inputs], gives input i to group i / `group`. Throws load_error where a tool has put inputs
/// into another order.
void check_group_index(const tensor_file& stored, const tensor_info& index, std::int64_t inputs, std::int64_t group);

}  // namespace cogen::load
