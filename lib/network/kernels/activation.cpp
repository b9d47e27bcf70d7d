#include "network/kernels/activation.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

activated_rows::activated_rows(const execution& run, const activation_operands& operands)
    : activate_(kernels_of(run.set).activate), operands_(operands) {}

void activated_rows::make(std::int64_t row) const {
  activate_({.kind = operands_.kind,
             .x = operands_.x + row * operands_.x_stride,
             .factor = operands_.factor ? operands_.factor + row * operands_.factor_stride : nullptr,
             .out = operands_.out + row * operands_.out_stride,
             .width = operands_.width,
             .parameters = operands_.parameters});
}

void activate(const execution& run, const activation_operands& operands) {
  const activated_rows rows(run, operands);
  for_each_row(*run.workers, operands.rows, operands.width, [&](std::int64_t row) { rows.make(row); });
}

}  // namespace cogen::kernels
