#include "network/kernels/selective_scan.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

void selective_scan(const execution& run, std::span<const token_rows> rows, const selective_scan_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  const auto scan = [&](const token_rows& row, std::int64_t first, std::int64_t channels) {
    kernels.selective_scan({.x = operands.x + row.first * operands.x_stride + first,
                            .x_stride = operands.x_stride,
                            .gate = operands.gate + row.first * operands.gate_stride + first,
                            .gate_stride = operands.gate_stride,
                            .step = operands.step + row.first * operands.step_stride + first,
                            .step_stride = operands.step_stride,
                            .b = operands.b + row.first * operands.bc_stride,
                            .c = operands.c + row.first * operands.bc_stride,
                            .bc_stride = operands.bc_stride,
                            .decay = operands.decay + first,
                            .skip = operands.skip + first,
                            .initial_state = row.initial_state + operands.state_offset + first,
                            .final_state = row.final_state + operands.state_offset + first,
                            .out = operands.out + row.first * operands.out_stride + first,
                            .out_stride = operands.out_stride,
                            .tokens = row.count,
                            .channels = channels,
                            .all_channels = operands.channels,
                            .states = operands.states});
  };
  for_each_channel_block(*run.workers, rows, operands.channels, state_block, operands.states, scan);
}

}  // namespace cogen::kernels
