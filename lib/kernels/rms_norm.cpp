#include "kernels/rms_norm.hpp"

#include "kernels/kernel_choice.hpp"
#include "kernels/row_tasks.hpp"

namespace cogen::kernels {

void rms_norm(const execution& run, const rms_norm_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  for_each_row(*run.workers, operands.rows, operands.vectors * operands.width, [&](std::int64_t row) {
    for (std::int64_t at = 0; at < operands.vectors * operands.width; at += operands.width) {
      kernels.rms_norm({.x = operands.x + row * operands.x_stride + at,
                        .add = operands.add ? operands.add + row * operands.add_stride + at : nullptr,
                        .weight = operands.weight,
                        .weight_offset = operands.weight_offset,
                        .epsilon = operands.epsilon,
                        .out = operands.out + row * operands.out_stride + at,
                        .add_to_out = operands.add_to_out,
                        .width = operands.width});
    }
  });
}

}  // namespace cogen::kernels
