#pragma once

#include "network/models/recurrent_specs.hpp"
#include "network/weights/matrix_rows.hpp"

#include <string>
#include <vector>

namespace cogen::weights {

// Where a checkpoint has the rows of the products that a recurrent mixer reads. Names get the prefix and no suffix.

std::vector<named_rows> in_rows(const models::short_convolution_spec& spec, const std::string& prefix);
std::vector<named_rows> in_rows(const models::delta_net_spec& spec, const std::string& prefix);
std::vector<named_rows> in_rows(const models::mamba2_spec& spec, const std::string& prefix);

/// Those that decide how its state decays: they read activations that are never rounded. None: it has no such product.
std::vector<named_rows> decision_rows(const models::short_convolution_spec& spec, const std::string& prefix);
std::vector<named_rows> decision_rows(const models::delta_net_spec& spec, const std::string& prefix);
std::vector<named_rows> decision_rows(const models::mamba2_spec& spec, const std::string& prefix);

/// -e^x of each: how a state decays, from its logarithm.
std::vector<float> decays_of(std::vector<float> logarithms);

}  // namespace cogen::weights
