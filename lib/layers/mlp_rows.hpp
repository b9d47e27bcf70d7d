#pragma once

#include "layers/matrix_rows.hpp"
#include "models/model_spec.hpp"

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace cogen::layers {

/// Where a checkpoint has the rows of gate and up, in this order, or of up alone. Names get the prefix and no suffix.
std::vector<named_rows> up_rows(const models::mlp_spec& spec, const std::string& prefix);

/// Reads a number that a feed-forward has beside its matrices: a tensor of that shape with one element.
using read_number = std::function<float(const std::string& name, std::initializer_list<std::int64_t> shape)>;

/// xIELU's parameters p, n, b and e; zeros for other activations. The file has the first two as what softplus turns
/// into them.
std::array<float, 4> activation_parameters(const models::mlp_spec& spec, const read_number& read);

}  // namespace cogen::layers
