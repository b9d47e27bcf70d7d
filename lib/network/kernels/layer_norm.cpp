#include "network/kernels/layer_norm.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

void layer_norm(const execution& run, const layer_norm_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  for_each_row(*run.workers, operands.rows, operands.width, [&](std::int64_t row) {
    kernels.layer_norm({.x = operands.x[row],
                        .weight = operands.weight,
                        .bias = operands.bias,
                        .epsilon = operands.epsilon,
                        .out = operands.out[row],
                        .width = operands.width});
  });
}

}  // namespace cogen::kernels
