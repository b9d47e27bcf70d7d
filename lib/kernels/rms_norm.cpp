#include "kernels/rms_norm.hpp"

#include "kernels/kernel_choice.hpp"
#include "kernels/row_tasks.hpp"

namespace cogen::kernels {

void rms_norm(const execution& run, const rms_norm_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  for_each_row(*run.workers, operands.rows, operands.width, [&](std::int64_t row) {
    kernels.rms_norm({.x = operands.x + row * operands.x_stride,
                      .add = operands.add ? operands.add + row * operands.add_stride : nullptr,
                      .weight = operands.weight,
                      .weight_offset = operands.weight_offset,
                      .epsilon = operands.epsilon,
                      .out = operands.out + row * operands.out_stride,
                      .width = operands.width});
  });
}

}  // namespace cogen::kernels
