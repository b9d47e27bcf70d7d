#include "kernels/activation.hpp"

#include "kernels/kernel_choice.hpp"
#include "kernels/row_tasks.hpp"

namespace cogen::kernels {

void activate(const execution& run, const activation_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  for_each_row(*run.workers, operands.rows, operands.width, [&](std::int64_t row) {
    kernels.activate({.kind = operands.kind,
                      .x = operands.x + row * operands.x_stride,
                      .factor = operands.factor ? operands.factor + row * operands.factor_stride : nullptr,
                      .out = operands.out + row * operands.out_stride,
                      .width = operands.width});
  });
}

}  // namespace cogen::kernels
