#pragma once

#include "network/models/model_spec.hpp"
#include "network/weights/matrix_rows.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace cogen::weights {

/// The experts as a checkpoint has them: Transformers' files hold them one by one, or all of a layer in two tensors.
models::moe_spec as_stored(models::moe_spec spec, const std::string& prefix,
                           const std::function<bool(const std::string&)>& has);

/// Where a checkpoint has the rows of gate and up, in this order, or of up alone. Names get the prefix and no suffix.
std::vector<named_rows> up_rows(const models::mlp_spec& spec, const std::string& prefix);

/// The same of a mixture's expert.
std::vector<named_rows> up_rows(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert);

/// Where it has the `outputs` rows of an expert's down.
named_rows down_rows(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert,
                     std::int64_t outputs);
named_rows down_rows(const models::mlp_spec& spec, const std::string& prefix, std::int64_t outputs);

/// The activation's parameters. A file has those of xIELU, p, n, b and e: the first two as what softplus turns into
/// them.
std::array<float, 4> activation_parameters(const models::mlp_spec& spec, const std::string& prefix,
                                           const read_numbers& read);

}  // namespace cogen::weights
