#include "network/backend/cpu/short_convolution.hpp"

#include "network/backend/cpu/row_arithmetic.hpp"

namespace cogen::cpu {

short_convolution::short_convolution(weight_reader& weights, const std::string& prefix,
                                     const models::short_convolution_spec& spec)
    : channels_(spec.channels),
      convolution_(weights, prefix + "conv",
                   {.channels = spec.channels, .taps = spec.taps, .bias = spec.bias, .silu = false}) {}

activations short_convolution::operator()(const forward_context& context, int layer, const activations& bcx,
                                          const activations&) const {
  const auto mixed = context.space.take(bcx.rows, channels_);
  const auto part = [&](std::int64_t index) { return bcx.columns_from(index * channels_, channels_); };
  multiply_rows(context, part(0), part(2));
  convolution_(context, layer, part(2), mixed);
  multiply_rows(context, part(1), mixed);
  return mixed;
}

}  // namespace cogen::cpu
