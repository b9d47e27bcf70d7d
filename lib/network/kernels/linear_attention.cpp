#include "network/kernels/linear_attention.hpp"

#include "network/kernels/kernel_choice.hpp"
#include "network/kernels/row_tasks.hpp"

#include <algorithm>

namespace cogen::kernels {

void linear_attention(const execution& run, std::span<const token_rows> rows,
                      const linear_attention_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  const std::int64_t blocks_of_head = blocks_of(operands.value_width);
  const auto attend = [&](const token_rows& row, std::int64_t block) {
    const std::int64_t head = block / blocks_of_head;
    const std::int64_t first = block % blocks_of_head * state_block;
    const std::int64_t key_head =
        operands.tiled ? head % operands.key_heads : head / (operands.heads / operands.key_heads);
    const std::int64_t keys = key_head * operands.key_width;
    const std::int64_t columns = head * operands.value_width + first;
    const std::int64_t state = operands.state_offset + head * operands.key_width * operands.value_width + first;
    kernels.linear_attention({.q = operands.q.rest(row.first, keys),
                              .k = operands.k.rest(row.first, keys),
                              .v = operands.v.rest(row.first, columns),
                              .decay = operands.decay.rest(row.first, head),
                              .rate = operands.rate.rest(row.first, head),
                              .skip = operands.skip ? operands.skip[head] : 0,
                              .delta = operands.delta,
                              .initial_state = row.initial_state + state,
                              .final_state = row.final_state + state,
                              .out = operands.out.rest(row.first, columns),
                              .tokens = row.count,
                              .keys = operands.key_width,
                              .columns = std::min(state_block, operands.value_width - first),
                              .all_columns = operands.value_width});
  };
  for_each_block(*run.workers, rows, operands.heads * blocks_of_head, state_block * operands.key_width, attend);
}

void head_decay(const execution& run, const head_decay_operands& operands) {
  const kernel_table& kernels = kernels_of(run.set);
  for_each_row(*run.workers, operands.tokens, operands.heads, [&](std::int64_t token) {
    kernels.head_decay({.x = operands.x[token],
                        .bias = operands.bias,
                        .rate = operands.rate,
                        .step = operands.step.data ? operands.step[token] : nullptr,
                        .decay = operands.decay[token],
                        .heads = operands.heads});
  });
}

}  // namespace cogen::kernels
