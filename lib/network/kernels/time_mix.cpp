#include "network/kernels/time_mix.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

void time_mix(const execution& run, std::span<const token_rows> rows, const time_mix_operands& operands) {
  constexpr std::int64_t work = 16;  // as that of so many floats: four exponentials and a sigmoid
  const kernel_table& kernels = kernels_of(run.set);
  const auto mix = [&](const token_rows& row, std::int64_t first, std::int64_t channels) {
    kernels.time_mix({.k = operands.k + row.first * operands.k_stride + first,
                      .k_stride = operands.k_stride,
                      .v = operands.v + row.first * operands.v_stride + first,
                      .v_stride = operands.v_stride,
                      .gate = operands.gate + row.first * operands.gate_stride + first,
                      .gate_stride = operands.gate_stride,
                      .decay = operands.decay + first,
                      .first = operands.first + first,
                      .initial_state = row.initial_state + operands.state_offset + first,
                      .final_state = row.final_state + operands.state_offset + first,
                      .out = operands.out + row.first * operands.out_stride + first,
                      .out_stride = operands.out_stride,
                      .tokens = row.count,
                      .channels = channels,
                      .all_channels = operands.channels});
  };
  for_each_channel_block(*run.workers, rows, operands.channels, state_block, work, mix);
}

}  // namespace cogen::kernels
