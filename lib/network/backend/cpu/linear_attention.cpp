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
  kernels::head_decay(context.run, {.x = x,
                                    .bias = bias_.data(),
                                    .rate = rate_.data(),
                                    .step = steps,
                                    .decay = decays,
                                    .tokens = x.rows,
                                    .heads = x.columns});
}

std::int64_t head_decay::bytes() const { return bytes_of(rate_) + bytes_of(bias_); }

void attend(const forward_context& context, int layer, const linear_attention_rows& rows,
            kernels::linear_attention_operands operands) {
  const auto& [q, k, v, decay, rate] = rows;
  operands.q = q;
  operands.k = k;
  operands.v = v;
  operands.decay = decay;
  operands.rate = rate;
  operands.out = v;
  run_with_states(context, layer, kernels::linear_attention, operands);
}

}  // namespace cogen::cpu
