#include "network/kernels/rms_norm.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

rms_norm_rows::rms_norm_rows(const execution& run, const rms_norm_operands& operands)
    : norm_(kernels_of(run.set).rms_norm), operands_(operands) {}

void rms_norm_rows::make(std::int64_t row) const {
  for (std::int64_t offset = 0; offset < operands_.vectors * operands_.width; offset += operands_.width) {
    norm_({.x = operands_.x[row] + offset,
           .add = operands_.add.data ? operands_.add[row] + offset : nullptr,
           .weight = operands_.weight,
           .weight_offset = operands_.weight_offset,
           .epsilon = operands_.epsilon,
           .out = operands_.out[row] + offset,
           .add_to_out = operands_.add_to_out,
           .width = operands_.width});
  }
}

void rms_norm(const execution& run, const rms_norm_operands& operands) {
  const rms_norm_rows rows(run, operands);
  for_each_row(*run.workers, operands.rows, operands.vectors * operands.width,
               [&](std::int64_t row) { rows.make(row); });
}

}  // namespace cogen::kernels
