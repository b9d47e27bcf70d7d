#include "layers/projection.hpp"

#include "kernels/linear.hpp"

#include <utility>

namespace cogen::layers {

namespace {

std::vector<named_rows> full_names(const std::string& prefix, const std::vector<named_rows>& parts,
                                   const std::string& suffix) {
  std::vector<named_rows> named;
  for (auto part : parts) {
    part.name = prefix + part.name + suffix;
    named.push_back(std::move(part));
  }
  return named;
}

}  // namespace

float* linear_scratch(const forward_context& context, const kernels::tiled_matrix& weights, std::int64_t rows) {
  const std::int64_t floats = kernels::linear_scratch_floats(context.run, weights, rows);
  return floats == 0 ? nullptr : context.space.take(1, floats).data;
}

projection::projection(weight_reader& weights, const std::string& prefix, const std::vector<named_rows>& parts,
                       std::int64_t inputs, bool bias)
    : weights_(weights.matrix(full_names(prefix, parts, ".weight"), inputs)) {
  if (bias) bias_ = weights.vector(full_names(prefix, parts, ".bias"));
}

void projection::operator()(const forward_context& context, const input& x, const activations& y) const {
  multiply(context, x, y, false);
}

void projection::add(const forward_context& context, const input& x, const activations& y) const {
  multiply(context, x, y, true);
}

void projection::multiply(const forward_context& context, const input& x, const activations& y, bool add_to_y) const {
  const arena::scope scratch(context.space);
  kernels::linear(context.run, *weights_,
                  {.x = x.rows.data,
                   .x_stride = x.rows.stride,
                   .maker = x.maker,
                   .y = y.data,
                   .y_stride = y.stride,
                   .rows = x.rows.rows,
                   .bias = bias_.empty() ? nullptr : bias_.data(),
                   .add_to_y = add_to_y,
                   .scratch = linear_scratch(context, *weights_, x.rows.rows)});
}

}  // namespace cogen::layers
