#include "network/kernels/selective_scan.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

void selective_scan(const execution& run, std::span<const token_rows> rows, const selective_scan_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  const auto scan = [&](const token_rows& row, std::int64_t first, std::int64_t channels) {
    kernels.selective_scan({.x = operands.x.rest(row.first, first),
                            .gate = operands.gate.rest(row.first, first),
                            .step = operands.step.rest(row.first, first),
                            .b = operands.b.rest(row.first),
                            .c = operands.c.rest(row.first),
                            .decay = operands.decay + first,
                            .skip = operands.skip + first,
                            .initial_state = row.initial_state + operands.state_offset + first,
                            .final_state = row.final_state + operands.state_offset + first,
                            .out = operands.out.rest(row.first, first),
                            .tokens = row.count,
                            .channels = channels,
                            .all_channels = operands.channels,
                            .states = operands.states});
  };
  for_each_channel_block(*run.workers, rows, operands.channels, state_block, operands.states, scan);
}

}  // namespace cogen::kernels
