#include "backend/cpu/projection.hpp"

#include "kernels/linear.hpp"

namespace cogen::cpu {

namespace {

/// Scratch for a product of so many rows, until the caller's arena::scope ends.
float* scratch_of(const forward_context& context, const kernels::tiled_matrix& weights, std::int64_t rows) {
  const std::int64_t floats = kernels::linear_scratch_floats(context.run, weights, rows);
  return floats == 0 ? nullptr : context.space.take(1, floats).data;
}

void multiply(const forward_context& context, const projection& by, const input& x, const activations& y,
              bool add_to_y) {
  const arena::scope scratch(context.space);
  kernels::linear(context.run, *by.weights,
                  {.x = x.rows.data,
                   .x_stride = x.rows.stride,
                   .maker = x.maker,
                   .y = y.data,
                   .y_stride = y.stride,
                   .rows = x.rows.rows,
                   .bias = by.bias.empty() ? nullptr : by.bias.data(),
                   .add_to_y = add_to_y,
                   .scratch = scratch_of(context, *by.weights, x.rows.rows)});
}

}  // namespace

void projection::operator()(const forward_context& context, const input& x, const activations& y) const {
  multiply(context, *this, x, y, false);
}

void projection::add(const forward_context& context, const input& x, const activations& y) const {
  multiply(context, *this, x, y, true);
}

}  // namespace cogen::cpu
