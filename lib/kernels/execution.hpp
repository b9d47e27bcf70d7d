#pragma once

#include "kernels/instruction_set.hpp"
#include "kernels/worker_pool.hpp"

namespace cogen::kernels {

/// How products of activations and weights are computed.
///
/// exact: weights are dequantised to exactly the float32 values that their format defines; float32 activations,
/// products and sums; each row has the same bits in any company, for one instruction set. fast: a name for integer
/// products that no kernel offers yet; kernels compute as for exact, and load_model refuses it.
enum class numerics { exact, fast };

/// Where and how kernels run. Results depend on `set` and `mode`, never on the number of threads.
/// A plain value: the pool must outlive every call that gets it.
struct execution {
  worker_pool* workers = nullptr;
  instruction_set set = instruction_set::portable;
  numerics mode = numerics::exact;
};

}  // namespace cogen::kernels
