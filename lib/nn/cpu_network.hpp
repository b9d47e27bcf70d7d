#pragma once

#include "backend/cpu/weight_reader.hpp"
#include "models/model_spec.hpp"
#include "nn/network.hpp"

#include <cogen/load/model_config.hpp>

#include <memory>

namespace cogen::nn {

/// Reads the weights of a spec and runs it on the CPU. Throws load::load_error, naming the tensor, for one that is
/// missing or has another shape.
std::unique_ptr<const network> make_cpu_network(const models::model_spec& spec, const load::model_config& config,
                                                cpu::weight_reader& weights);

}  // namespace cogen::nn
