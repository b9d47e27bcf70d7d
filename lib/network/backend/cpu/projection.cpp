#include "network/backend/cpu/projection.hpp"

#include "network/kernels/linear.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cogen::cpu {

namespace {

/// Scratch for a product of so many rows, until the caller's arena::scope ends.
float* scratch_of(const forward_context& context, const kernels::tiled_matrix& weights, std::int64_t rows) {
  const std::int64_t floats = kernels::linear_scratch_floats(context.run, weights, rows);
  return floats == 0 ? nullptr : context.space.take(1, floats).data;
}

/// With scratch until the caller's arena::scope ends.
kernels::linear_product product_of(const forward_context& context, const projection& by, const input& x,
                                   const activations& y, bool add_to_y) {
  return {by.weights.get(),
          {.x = x.rows.data,
           .x_stride = x.rows.stride,
           .maker = x.maker,
           .y = y.data,
           .y_stride = y.stride,
           .rows = x.rows.rows,
           .bias = by.bias.empty() ? nullptr : by.bias.data(),
           .add_to_y = add_to_y,
           .scratch = scratch_of(context, *by.weights, x.rows.rows)}};
}

void adapt(const forward_context& context, const adapter& by, const activations& x, const activations& y) {
  const arena::scope scratch(context.space);
  const auto low = context.space.take(x.rows, by.down->outputs());
  projection{by.down}(context, x, low);
  projection{by.up}.add(context, low, y.columns_from(by.first, by.up->outputs()));
}

/// The product makes the rows that adapters read.
void multiply(const forward_context& context, const projection& by, const input& x, const activations& y,
              bool add_to_y) {
  const arena::scope scratch(context.space);
  const auto product = product_of(context, by, x, y, add_to_y);
  kernels::linear(context.run, *product.weights, product.operands);
  for (const auto& each : by.adapters) adapt(context, each, x.rows, y);
}

}  // namespace

void projection::operator()(const forward_context& context, const input& x, const activations& y) const {
  multiply(context, *this, x, y, false);
}

std::int64_t projection::bytes() const {
  auto bytes = weights->bytes();
  for (const auto& each : adapters) bytes += each.down->bytes() + each.up->bytes();
  return static_cast<std::int64_t>(bytes);
}

void projection::add(const forward_context& context, const input& x, const activations& y) const {
  multiply(context, *this, x, y, true);
}

void project(const forward_context& context, std::span<const projected_rows> products) {
  std::array<kernels::linear_product, kernels::most_together> together;
  for (; !products.empty(); products = products.subspan(std::min(kernels::most_together, products.size()))) {
    const arena::scope scratch(context.space);
    const auto next = products.first(std::min(kernels::most_together, products.size()));
    std::ranges::transform(next, together.begin(), [&](const projected_rows& each) {
      return product_of(context, *each.by, each.x, each.y, false);
    });
    kernels::linear(context.run, std::span(together).first(next.size()));
  }
}

void project_heads(const forward_context& context, std::span<const projection> by, const head_columns& x,
                   const head_columns& y) {
  std::array<projected_rows, kernels::most_together> products;
  for (std::size_t first = 0; first < by.size(); first += kernels::most_together) {
    const auto count = std::min(kernels::most_together, by.size() - first);
    for (std::size_t index = 0; index < count; ++index) {
      const auto head = static_cast<std::int64_t>(first + index);
      products[index] = {&by[first + index], x.of(head), y.of(head)};
    }
    project(context, std::span(products).first(count));
  }
}

}  // namespace cogen::cpu
