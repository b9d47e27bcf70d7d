#include "backend/cpu/delta_net.hpp"

#include "backend/cpu/layer_states.hpp"
#include "backend/cpu/row_arithmetic.hpp"
#include "kernels/linear_attention.hpp"

#include <cmath>
#include <cstddef>

namespace cogen::cpu {

namespace {

/// x / sqrt(|x|^2 + 1e-6), times `scale`: an RMS norm without weights of its own.
norm length_norm(std::int64_t width, double scale) {
  const auto elements = static_cast<double>(width);
  const auto weight = static_cast<float>(scale / std::sqrt(elements));
  return {{.name = "", .epsilon = 1e-6 / elements}, std::vector<float>(static_cast<std::size_t>(width), weight)};
}

}  // namespace

delta_net::delta_net(weight_reader& weights, const std::string& prefix, const models::delta_net_spec& spec)
    : spec_(spec),
      convolution_(weights, prefix + "conv1d", {.channels = spec.channels(), .taps = spec.taps}),
      q_norm_(length_norm(spec.key_width, 1 / std::sqrt(static_cast<double>(spec.key_width)))),
      k_norm_(length_norm(spec.key_width, 1)),
      decay_(decays_of(weights.numbers(prefix + "A_log", {spec.heads}))),
      step_bias_(weights.numbers(prefix + "dt_bias", {spec.heads})),
      norm_(*weights.norm({.name = prefix + "norm", .epsilon = spec.norm_epsilon}, spec.value_width)) {}

activations delta_net::operator()(const forward_context& context, int layer, const activations& in,
                                  const activations& decisions) const {
  const auto mixed = context.space.take(in.rows, spec_.channels());
  const auto values = mixed.columns_from(2 * spec_.keys(), spec_.values());
  set_states(context, layer);
  convolution_(context, in.columns_from(0, spec_.channels()), mixed);
  decide(context, decisions.columns_from(0, spec_.heads), decisions.columns_from(spec_.heads, spec_.heads));
  attend(context, mixed, decisions);
  norm_(context, values, values);
  activate_rows(context, kernels::activation::silu, in.columns_from(spec_.channels(), spec_.values()), values, values);
  return values;
}

void delta_net::decide(const forward_context& context, const activations& rates, const activations& decays) const {
  activate_rows(context, kernels::activation::sigmoid, rates, {}, rates);
  kernels::head_decay(context.run, {.x = decays.data,
                                    .x_stride = decays.stride,
                                    .bias = step_bias_.data(),
                                    .rate = decay_.data(),
                                    .decay = decays.data,
                                    .decay_stride = decays.stride,
                                    .tokens = decays.rows,
                                    .heads = spec_.heads});
}

void delta_net::attend(const forward_context& context, const activations& qkv, const activations& decisions) const {
  const auto q = qkv.columns_from(0, spec_.keys()), k = qkv.columns_from(spec_.keys(), spec_.keys());
  const auto v = qkv.columns_from(2 * spec_.keys(), spec_.values());
  q_norm_(context, q, q);
  k_norm_(context, k, k);
  kernels::linear_attention(context.run, context.rows,
                            {.q = q.data,
                             .q_stride = q.stride,
                             .k = k.data,
                             .k_stride = k.stride,
                             .v = v.data,
                             .v_stride = v.stride,
                             .decay = decisions.data + spec_.heads,
                             .decay_stride = decisions.stride,
                             .rate = decisions.data,
                             .rate_stride = decisions.stride,
                             .out = v.data,
                             .out_stride = v.stride,
                             .heads = spec_.heads,
                             .key_heads = spec_.key_heads,
                             .key_width = spec_.key_width,
                             .value_width = spec_.value_width,
                             .tiled = spec_.tiled,
                             .delta = true,
                             .state_offset = convolution_.state()});
}

std::int64_t delta_net::bytes() const {
  return convolution_.bytes() + norm_.bytes() + bytes_of(decay_) + bytes_of(step_bias_);
}

}  // namespace cogen::cpu
