#include "network/kernels/time_mix.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

namespace cogen::kernels {

void time_mix(const execution& run, std::span<const token_rows> rows, const time_mix_operands& operands) {
  constexpr std::int64_t work = 16;  // as that of so many floats: four exponentials and a sigmoid
  const kernel_table& kernels = kernels_of(run.set);
  const auto mix = [&](const token_rows& row, std::int64_t first, std::int64_t channels) {
    kernels.time_mix({.k = operands.k.rest(row.first, first),
                      .v = operands.v.rest(row.first, first),
                      .gate = operands.gate.rest(row.first, first),
                      .decay = operands.decay + first,
                      .first = operands.first + first,
                      .initial_state = row.initial_state + operands.state_offset + first,
                      .final_state = row.final_state + operands.state_offset + first,
                      .out = operands.out.rest(row.first, first),
                      .tokens = row.count,
                      .channels = channels,
                      .all_channels = operands.channels});
  };
  for_each_channel_block(*run.workers, rows, operands.channels, state_block, work, mix);
}

}  // namespace cogen::kernels
