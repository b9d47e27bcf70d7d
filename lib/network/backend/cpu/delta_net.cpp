#include "network/backend/cpu/delta_net.hpp"

#include "network/backend/cpu/row_arithmetic.hpp"

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
      decay_(weights, prefix, spec.heads),
      norm_(*weights.norm({.name = prefix + "norm", .epsilon = spec.norm_epsilon}, spec.value_width)) {}

activations delta_net::operator()(const forward_context& context, int layer, const activations& in,
                                  const activations& decisions) const {
  const auto mixed = context.space.take(in.rows, spec_.channels());
  const auto values = mixed.columns_from(2 * spec_.keys(), spec_.values());
  convolution_(context, layer, in.columns_from(0, spec_.channels()), mixed);
  attend_to_states(context, layer, mixed, decisions);
  norm_(context, values, values);
  activate_rows(context, kernels::activation::silu, in.columns_from(spec_.channels(), spec_.values()), values, values);
  return values;
}

void delta_net::attend_to_states(const forward_context& context, int layer, const activations& qkv,
                                 const activations& decisions) const {
  const auto rates = decisions.columns_from(0, spec_.heads), decays = decisions.columns_from(spec_.heads, spec_.heads);
  const auto q = qkv.columns_from(0, spec_.keys()), k = qkv.columns_from(spec_.keys(), spec_.keys());
  activate_rows(context, kernels::activation::sigmoid, rates, {}, rates);
  decay_(context, decays, {}, decays);
  q_norm_(context, q, q);
  k_norm_(context, k, k);
  attend(context, layer,
         {.q = q, .k = k, .v = qkv.columns_from(2 * spec_.keys(), spec_.values()), .decay = decays, .rate = rates},
         {.heads = spec_.heads,
          .key_heads = spec_.key_heads,
          .key_width = spec_.key_width,
          .value_width = spec_.value_width,
          .tiled = spec_.tiled,
          .delta = true,
          .state_offset = convolution_.state()});
}

std::int64_t delta_net::bytes() const { return convolution_.bytes() + norm_.bytes() + decay_.bytes(); }

}  // namespace cogen::cpu
