#include "kernels/activation.hpp"

#include "kernels/kernel_choice.hpp"
#include "kernels/row_tasks.hpp"

namespace cogen::kernels {

void silu_mul(const execution& run, const silu_mul_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  for_each_row(*run.workers, operands.rows, operands.width, [&](std::int64_t row) {
    const float* gate = operands.gate_up + row * operands.gate_up_stride;
    kernels.silu_mul(gate, gate + operands.width, operands.out + row * operands.out_stride, operands.width);
  });
}

}  // namespace cogen::kernels
