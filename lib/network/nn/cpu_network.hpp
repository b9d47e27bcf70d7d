#pragma once

#include "network/backend/cpu/weight_reader.hpp"
#include "network/models/model_spec.hpp"
#include "network/nn/network.hpp"

#include <cogen/load/model_config.hpp>

#include <memory>

namespace cogen::nn {

/// Reads the weights of a spec and runs it on the CPU. Throws load::load_error, naming the tensor, for one that is
/// missing or has another shape. With ranks, the spec is the part of this one, all of them run every forward at the
/// same time, and those get the logits that gather.
std::unique_ptr<const network> make_cpu_network(const models::model_spec& spec, const load::model_config& config,
                                                cpu::weight_reader& weights,
                                                std::shared_ptr<parallel::rank_group> ranks = nullptr);

}  // namespace cogen::nn
