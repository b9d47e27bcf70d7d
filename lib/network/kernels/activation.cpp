#include "network/kernels/activation.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

activated_rows::activated_rows(const execution& run, const activation_operands& operands)
    : activate_(kernels_of(run.set).activate), operands_(operands) {}

void activated_rows::make(std::int64_t row) const {
  activate_({.kind = operands_.kind,
             .x = operands_.x[row],
             .factor = operands_.factor.data ? operands_.factor[row] : nullptr,
             .out = operands_.out[row],
             .width = operands_.width,
             .parameters = operands_.parameters});
}

void activate(const execution& run, const activation_operands& operands) {
  const activated_rows rows(run, operands);
  for_each_row(*run.workers, operands.rows, operands.width, [&](std::int64_t row) { rows.make(row); });
}

}  // namespace cogen::kernels
