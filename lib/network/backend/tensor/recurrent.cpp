#include "network/backend/tensor/mixers.hpp"
#include "network/backend/tensor/norms.hpp"
#include "network/backend/tensor/tensor_operators.hpp"
#include "network/backend/tensor/token_blocks.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>

#include <vector>

namespace cogen::device {

namespace {

/// From and to the states of the rows' slots: states [slots, numbers], out [tokens, width].
///
/// Calls mix(take, state) for all rows of a single token together, and for each prompt. Of a step's rows, take(rows)
/// are those of the sequences, [sequences, tokens, …]; state [sequences, numbers] is updated in place; the result is
/// [sequences, tokens, width].
template <class Mix>
void mix_sequences(const step_rows& rows, const at::Tensor& states, const at::Tensor& out, const Mix& mix) {
  if (rows.single > 0) {
    const auto first = [&](const at::Tensor& tensor) { return tensor.narrow(0, 0, rows.single); };
    const slot_rows own(first(rows.slots));
    const auto is_new = own.select(first(rows.positions)) == 0;
    const auto state = states.index_select(0, own.slots).masked_fill_(is_new.unsqueeze(1), 0);
    const auto result = mix([&](const at::Tensor& tensor) { return own.select(first(tensor)).unsqueeze(1); }, state);
    states.index_copy_(0, own.slots, state);
    first(out).copy_(result.squeeze(1).masked_fill(own.is_padding.unsqueeze(1), 0));
  }
  for_prompts(rows, [&](const token_block& which, const prompt_row& prompt) {
    const auto take = [&](const at::Tensor& tensor) { return which.slice(tensor); };
    const auto state = states.narrow(0, prompt.slot, 1);
    if (prompt.held == 0) state.zero_();
    take(out).copy_(mix(take, state));
  });
}

}  // namespace

void tensor_operators::scan(const at::Tensor& x_and_gate, const selective_scan& mamba, const step_rows& rows,
                            const cache::device_layer& layer, const at::Tensor& out) {
  mix_sequences(rows, layer.states, out, [&](const auto& take, const at::Tensor& state) {
    const auto parts = take(x_and_gate).to(at::kFloat).chunk(2, 2);
    const auto x = at::silu(convolved(parts[0], mamba.convolves, kept_inputs(state, mamba.convolves)));
    const auto h =
        state.slice(1, (mamba.taps() - 1) * mamba.channels()).unflatten(1, {mamba.states(), mamba.channels()});
    return scanned(x, mamba, h) * at::silu(parts[1]);
  });
}

/// The scan of x [sequences, tokens, channels] from the states h [sequences, states, channels], which follow it.
at::Tensor tensor_operators::scanned(const at::Tensor& x, const selective_scan& mamba, const at::Tensor& h) {
  const auto of_tokens = [&](const at::Tensor& rows) { return rows.unflatten(0, {x.size(0), x.size(1)}); };
  const auto selected =
      product(x.flatten(0, 1), mamba.selection).split_with_sizes({mamba.rank(), mamba.states(), mamba.states()}, 1);
  const auto d = of_tokens(at::softplus(product(normed(selected[0], mamba.step_norm), mamba.step))).unsqueeze(2);
  const auto b = of_tokens(normed(selected[1], mamba.b_norm)).unsqueeze(3);
  const auto c = of_tokens(normed(selected[2], mamba.c_norm)).unsqueeze(3);
  const auto kept = at::exp(mamba.decay * d), added = b * d * x.unsqueeze(2);
  std::vector<at::Tensor> found;
  for (std::int64_t token = 0; token < x.size(1); ++token) {
    h.mul_(kept.select(1, token)).add_(added.select(1, token));
    found.push_back((h * c.select(1, token)).sum(1));
  }
  return at::stack(found, 1) + x * mamba.skip;
}

void tensor_operators::mix(const mixer_rows& numbers, const mixer& part, const step_rows& rows,
                           const cache::device_layer& layer, const at::Tensor& out) {
  mix_sequences(rows, layer.states, out, [&](const auto& take, const at::Tensor& states) {
    return mixed({take(numbers.in), take(numbers.decisions)}, part, states);
  });
}

/// Products of mixes m * row + (1 - m) * the row before, whose first one is in the state [sequences, inputs]. x
/// [sequences, tokens, inputs], results [sequences, tokens, outputs]
std::vector<at::Tensor> tensor_operators::products_of_mixes(const at::Tensor& x, const at::Tensor& mixes,
                                                            const std::vector<projection>& projections,
                                                            const at::Tensor& state) {
  const auto tokens = x.size(1);
  const auto inputs = at::cat({state.unsqueeze(1), x}, 1);
  const auto last = inputs.narrow(1, 0, tokens);
  std::vector<at::Tensor> found;
  for (const auto& m : mixes.chunk(static_cast<std::int64_t>(projections.size()))) {
    const auto mix = x * m + last * (1 - m);
    found.push_back(product(mix.flatten(0, 1), projections[found.size()]).unflatten(0, {x.size(0), tokens}));
  }
  state.copy_(inputs.select(1, tokens));
  return found;
}

void tensor_operators::mix_times(const at::Tensor& x, const norm& pre_norm, const time_mix& part, const step_rows& rows,
                                 const cache::device_layer& layer, const at::Tensor& out) {
  const auto own = normed(x, pre_norm);
  mix_sequences(rows, layer.states, out, [&](const auto& take, const at::Tensor& state) {
    const auto kvg = products_of_mixes(take(own), part.mixes, part.in, state.narrow(1, 0, part.spec.inputs));
    return averaged(kvg, part, state.slice(1, part.spec.inputs).unflatten(1, {3, part.spec.channels}));
  });
}

void tensor_operators::mix_channels(const at::Tensor& x, const norm& pre_norm, const channel_mix& part,
                                    const step_rows& rows, const cache::device_layer& layer, const at::Tensor& out) {
  const auto own = normed(x, pre_norm);
  mix_sequences(rows, layer.states, out, [&](const auto& take, const at::Tensor& state) {
    const auto products = products_of_mixes(take(own), part.mixes, part.in, state);
    const auto inner = at::relu(products[0]).square().flatten(0, 1);
    return product(inner, part.product).unflatten(0, {products[1].size(0), products[1].size(1)}) *
           at::sigmoid(products[1]);
  });
}

}  // namespace cogen::device
