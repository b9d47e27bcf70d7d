#pragma once

#include "kernels/instruction_set.hpp"
#include "kernels/worker_pool.hpp"

namespace cogen::kernels {

/// Where and how kernels run. Results depend on `set`, never on the number of threads.
/// A plain value: the pool must outlive every call that gets it.
struct execution {
  worker_pool* workers = nullptr;
  instruction_set set = instruction_set::portable;
};

}  // namespace cogen::kernels
