#include "network/backend/cpu/layer_states.hpp"
#include "network/backend/cpu/operators.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"
#include "network/kernels/row_tasks.hpp"
#include "network/kernels/time_mix.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cogen::cpu {

/// m * row + (1 - m) * row before of before(x), for each m of `of`, side by side. [tokens, of.size()]
activations operators::mixes(const activations& x, const forms::norm& before, std::span<const float> of,
                             int layer) const {
  const auto made = context_.space.take(x.rows, static_cast<std::int64_t>(of.size()));
  const auto scratch = this->scratch();
  const auto normed = context_.space.take(x.rows, x.columns);
  (*before)(context_, x, normed);
  for_each_state(context_, layer, [&](std::span<const kernels::token_rows> rows) {
    kernels::for_each_token(*context_.run.workers, rows, [&](const kernels::token_rows& row, std::int64_t at) {
      const float* now = normed.row(row.first + at);
      const float* last = at == 0 ? row.before : normed.row(row.first + at - 1);
      float* to = made.row(row.first + at);
      for (std::int64_t first = 0; first < made.columns; first += x.columns)
        for (std::int64_t column = 0; column < x.columns; ++column) {
          const float m = of[static_cast<std::size_t>(first + column)];
          to[first + column] = m * now[column] + (1 - m) * last[column];
        }
    });
    for (const auto& row : rows) std::copy_n(normed.row(row.first + row.count - 1), x.columns, row.after);
  });
  return made;
}

activations operators::mix_times(const activations& x, const forms::norm& before,
                                 const parts::time_mix<forms>& by) const {
  const auto& [inputs, channels] = by.how;
  const auto kvg = context_.space.take(x.rows, 3 * channels);
  const auto k = kvg.columns_from(0, channels), v = kvg.columns_from(channels, channels);
  const auto gate = kvg.columns_from(2 * channels, channels);
  const auto scratch = this->scratch();
  const auto mixed = mixes(x, before, by.mixes, by.layer);
  const auto mix = [&, width = inputs](std::int64_t index) { return mixed.columns_from(index * width, width); };
  project(context_, std::array{projected_rows{&by.in[0], mix(0), k}, projected_rows{&by.in[1], mix(1), v},
                               projected_rows{&by.in[2], mix(2), gate}});
  run_with_states(context_, by.layer, kernels::time_mix,
                  {.k = k.data,
                   .k_stride = k.stride,
                   .v = v.data,
                   .v_stride = v.stride,
                   .gate = gate.data,
                   .gate_stride = gate.stride,
                   .decay = by.decay.data(),
                   .first = by.first.data(),
                   .out = v.data,
                   .out_stride = v.stride,
                   .channels = channels,
                   .state_offset = inputs});
  return v;
}

activations operators::mix_channels(const activations& x, const forms::norm& before,
                                    const parts::channel_mix<forms>& by) const {
  const auto& [inputs, intermediate] = by.how;
  const auto made = context_.space.take(x.rows, inputs);
  const auto scratch = this->scratch();
  const auto inner = context_.space.take(x.rows, intermediate), gate = context_.space.take(x.rows, inputs);
  const auto mixed = mixes(x, before, by.mixes, by.layer);
  project(context_, std::array{projected_rows{&by.in[0], mixed.columns_from(0, inputs), inner},
                               projected_rows{&by.in[1], mixed.columns_from(inputs, inputs), gate}});
  activate_rows(context_, kernels::activation::relu_squared, inner, {}, inner);
  by.product(context_, inner, made);
  activate_rows(context_, kernels::activation::sigmoid, gate, made, made);
  return made;
}

}  // namespace cogen::cpu
