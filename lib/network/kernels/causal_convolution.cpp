#include "network/kernels/causal_convolution.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

void causal_convolution(const execution& run, std::span<const token_rows> rows,
                        const causal_convolution_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  const auto convolve = [&](const token_rows& row, std::int64_t first, std::int64_t channels) {
    kernels.causal_convolution({.x = operands.x.rest(row.first, first),
                                .weight = operands.weight + first,
                                .bias = operands.bias ? operands.bias + first : nullptr,
                                .initial_state = row.initial_state + operands.state_offset + first,
                                .final_state = row.final_state + operands.state_offset + first,
                                .out = operands.out.rest(row.first, first),
                                .tokens = row.count,
                                .channels = channels,
                                .all_channels = operands.channels,
                                .taps = operands.taps,
                                .silu = operands.silu});
  };
  for_each_channel_block(*run.workers, rows, operands.channels, 1024, operands.taps, convolve);
}

}  // namespace cogen::kernels
