#pragma once

#include "formats/checkpoint/tensor_file.hpp"

#include <cstdint>
#include <vector>

namespace cogen::load {

/// The group of each input by g_idx, i32 [inputs], where a tool has put inputs into another order (GPTQ's desc_act,
/// actorder "group"); empty where input i is of group i / `group`, and without such a tensor. Throws load_error for a
/// group that is not there.
std::vector<std::int32_t> group_order(const tensor_file& stored, const tensor_info* index, std::int64_t inputs,
                                      std::int64_t group);

}  // namespace cogen::load
