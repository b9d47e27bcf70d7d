#include "network/backend/cpu/linear_attention.hpp"

#include "network/backend/cpu/convolution.hpp"
#include "network/backend/cpu/layer_states.hpp"
#include "network/weights/mixer_rows.hpp"

namespace cogen::cpu {

head_decay::head_decay(weight_reader& weights, const std::string& prefix, std::int64_t heads)
    : rate_(weights::decays_of(weights.numbers(prefix + "A_log", {heads}))),
      bias_(weights.numbers(prefix + "dt_bias", {heads})) {}

void head_decay::operator()(const forward_context& context, const activations& x, const activations& steps,
                            const activations& decays) const {
  kernels::head_decay(context.run, {.x = x.data,
                                    .x_stride = x.stride,
                                    .bias = bias_.data(),
                                    .rate = rate_.data(),
                                    .step = steps.data,
                                    .step_stride = steps.stride,
                                    .decay = decays.data,
                                    .decay_stride = decays.stride,
                                    .tokens = x.rows,
                                    .heads = x.columns});
}

std::int64_t head_decay::bytes() const { return bytes_of(rate_) + bytes_of(bias_); }

void attend(const forward_context& context, int layer, const linear_attention_rows& rows,
            kernels::linear_attention_operands operands) {
  const auto& [q, k, v, decay, rate] = rows;
  operands.q = q.data;
  operands.q_stride = q.stride;
  operands.k = k.data;
  operands.k_stride = k.stride;
  operands.v = operands.out = v.data;
  operands.v_stride = operands.out_stride = v.stride;
  operands.decay = decay.data;
  operands.decay_stride = decay.stride;
  operands.rate = rate.data;
  operands.rate_stride = rate.stride;
  run_with_states(context, layer, kernels::linear_attention, operands);
}

}  // namespace cogen::cpu
