#pragma once

#include "network/kernels/instruction_set.hpp"
#include "network/kernels/worker_pool.hpp"

#include <cogen/load_model.hpp>

namespace cogen::kernels {

/// Where and how kernels run. Results depend on `set` and `mode`, never on the number of threads.
/// A plain value: the pool must outlive every call that gets it.
struct execution {
  worker_pool* workers = nullptr;
  instruction_set set = instruction_set::portable;
  compute_type mode = compute_type::float32;
};

}  // namespace cogen::kernels
