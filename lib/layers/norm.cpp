#include "layers/norm.hpp"

#include "kernels/rms_norm.hpp"

#include <array>

namespace cogen::layers {

rms_norm::rms_norm(weight_reader& weights, const std::string& name, std::int64_t width, double epsilon)
    : weight_(weights.vector(std::array{named_rows{name, width}})), epsilon_(static_cast<float>(epsilon)) {}

void rms_norm::operator()(const pass& pass, const activations& x, const activations& out) const {
  kernels::rms_norm(pass.run, {.x = x.data,
                               .x_stride = x.stride,
                               .weight = weight_.data(),
                               .epsilon = epsilon_,
                               .out = out.data,
                               .out_stride = out.stride,
                               .rows = x.rows,
                               .width = x.columns});
}

}  // namespace cogen::layers
