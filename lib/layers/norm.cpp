#include "layers/norm.hpp"

#include "kernels/layer_norm.hpp"

#include <array>

namespace cogen::layers {

rms_norm::rms_norm(weight_reader& weights, const std::string& name, std::int64_t width, double epsilon,
                   float weight_offset)
    : weight_(weights.vector(std::array{named_rows{name, width}})),
      epsilon_(static_cast<float>(epsilon)),
      weight_offset_(weight_offset) {}

void rms_norm::operator()(const forward_context& context, const activations& x, const activations& out) const {
  kernels::rms_norm(context.run, operands(x, out));
}

void rms_norm::add(const forward_context& context, const activations& x, const activations& out) const {
  auto added = operands(x, out);
  added.add_to_out = true;
  kernels::rms_norm(context.run, added);
}

kernels::rms_norm_rows rms_norm::rows(const forward_context& context, const activations& x,
                                      const activations& out) const {
  return {context.run, operands(x, out)};
}

kernels::rms_norm_operands rms_norm::operands(const activations& x, const activations& out) const {
  const auto width = static_cast<std::int64_t>(weight_.size());
  return {.x = x.data,
          .x_stride = x.stride,
          .weight = weight_.data(),
          .weight_offset = weight_offset_,
          .epsilon = epsilon_,
          .out = out.data,
          .out_stride = out.stride,
          .rows = x.rows,
          .vectors = x.columns / width,
          .width = width};
}

layer_norm::layer_norm(weight_reader& weights, const std::string& prefix, std::int64_t width, double epsilon)
    : weight_(weights.vector(std::array{named_rows{prefix + "weight", width}})),
      bias_(weights.vector(std::array{named_rows{prefix + "bias", width}})),
      epsilon_(static_cast<float>(epsilon)) {}

void layer_norm::operator()(const forward_context& context, const activations& x, const activations& out) const {
  kernels::layer_norm(context.run, {.x = x.data,
                                    .x_stride = x.stride,
                                    .weight = weight_.data(),
                                    .bias = bias_.data(),
                                    .epsilon = epsilon_,
                                    .out = out.data,
                                    .out_stride = out.stride,
                                    .rows = x.rows,
                                    .width = x.columns});
}

}  // namespace cogen::layers
