#include "network/backend/cpu/layer_states.hpp"
#include "network/backend/cpu/operators.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"
#include "network/kernels/row_tasks.hpp"
#include "network/kernels/time_mix.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cogen::cpu {

/// m * row + (1 - m) * row before of pre_norm(x), for each m of `factors`, side by side. [tokens, factors.size()]
activations operators::mixes(const activations& x, const forms::norm& pre_norm, std::span<const float> factors,
                             int layer) const {
  const auto result = context_.space.take(x.rows, static_cast<std::int64_t>(factors.size()));
  const auto scratch = this->scratch();
  const auto normed = context_.space.take(x.rows, x.columns);
  (*pre_norm)(context_, x, normed);
  for_each_state(context_, layer, [&](std::span<const kernels::token_rows> rows) {
    kernels::for_each_token(*context_.run.workers, rows, [&](const kernels::token_rows& row, std::int64_t token_index) {
      const float* now = normed.row(row.first + token_index);
      const float* last = token_index == 0 ? row.initial_state : normed.row(row.first + token_index - 1);
      float* target = result.row(row.first + token_index);
      for (std::int64_t first = 0; first < result.columns; first += x.columns)
        for (std::int64_t column = 0; column < x.columns; ++column) {
          const float m = factors[static_cast<std::size_t>(first + column)];
          target[first + column] = m * now[column] + (1 - m) * last[column];
        }
    });
    for (const auto& row : rows) std::copy_n(normed.row(row.first + row.count - 1), x.columns, row.final_state);
  });
  return result;
}

activations operators::mix_times(const activations& x, const forms::norm& pre_norm,
                                 const parts::time_mix<forms>& part) const {
  const auto& [inputs, channels] = part.spec;
  const auto kvg = context_.space.take(x.rows, 3 * channels);
  const auto k = kvg.columns_from(0, channels), v = kvg.columns_from(channels, channels);
  const auto gate = kvg.columns_from(2 * channels, channels);
  const auto scratch = this->scratch();
  const auto mixed = mixes(x, pre_norm, part.mixes, part.layer);
  const auto mix = [&, width = inputs](std::int64_t index) { return mixed.columns_from(index * width, width); };
  project(context_, std::array{projected_rows{&part.in[0], mix(0), k}, projected_rows{&part.in[1], mix(1), v},
                               projected_rows{&part.in[2], mix(2), gate}});
  run_with_states(context_, part.layer, kernels::time_mix,
                  {.k = k,
                   .v = v,
                   .gate = gate,
                   .decay = part.decay.data(),
                   .first = part.first.data(),
                   .out = v,
                   .channels = channels,
                   .state_offset = inputs});
  return v;
}

activations operators::mix_channels(const activations& x, const forms::norm& pre_norm,
                                    const parts::channel_mix<forms>& part) const {
  const auto& [inputs, intermediate] = part.spec;
  const auto result = context_.space.take(x.rows, inputs);
  const auto scratch = this->scratch();
  const auto inner = context_.space.take(x.rows, intermediate), gate = context_.space.take(x.rows, inputs);
  const auto mixed = mixes(x, pre_norm, part.mixes, part.layer);
  project(context_, std::array{projected_rows{&part.in[0], mixed.columns_from(0, inputs), inner},
                               projected_rows{&part.in[1], mixed.columns_from(inputs, inputs), gate}});
  activate_rows(context_, kernels::activation::relu_squared, inner, {}, inner);
  part.product(context_, inner, result);
  activate_rows(context_, kernels::activation::sigmoid, gate, result, result);
  return result;
}

}  // namespace cogen::cpu
