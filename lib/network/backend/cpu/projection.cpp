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
kernels::linear_product product_of(const forward_context& context, const projection& linear, const input& x,
                                   const activations& y, bool add_to_y) {
  return {linear.weights.get(),
          {.x = x.rows,
           .maker = x.maker,
           .y = y,
           .rows = x.rows.rows,
           .bias = linear.bias.empty() ? nullptr : linear.bias.data(),
           .add_to_y = add_to_y,
           .scratch = scratch_of(context, *linear.weights, x.rows.rows)}};
}

void adapt(const forward_context& context, const adapter& lora, const activations& x, const activations& y) {
  const arena::scope scratch(context.space);
  const auto low = context.space.take(x.rows, lora.down->outputs());
  projection{lora.down}(context, x, low);
  projection{lora.up}.add(context, low, y.columns_from(lora.first, lora.up->outputs()));
}

/// The product makes the rows that adapters read.
void multiply(const forward_context& context, const projection& linear, const input& x, const activations& y,
              bool add_to_y) {
  const arena::scope scratch(context.space);
  const auto product = product_of(context, linear, x, y, add_to_y);
  kernels::linear(context.run, *product.weights, product.operands);
  for (const auto& each : linear.adapters) adapt(context, each, x.rows, y);
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
  std::array<kernels::linear_product, kernels::max_together> together;
  for (; !products.empty(); products = products.subspan(std::min(kernels::max_together, products.size()))) {
    const arena::scope scratch(context.space);
    const auto next = products.first(std::min(kernels::max_together, products.size()));
    std::ranges::transform(next, together.begin(), [&](const projected_rows& product) {
      return product_of(context, *product.linear, product.x, product.y, false);
    });
    kernels::linear(context.run, std::span(together).first(next.size()));
  }
}

void project_heads(const forward_context& context, std::span<const projection> projections, const head_columns& x,
                   const head_columns& y) {
  std::array<projected_rows, kernels::max_together> products;
  for (std::size_t first = 0; first < projections.size(); first += kernels::max_together) {
    const auto count = std::min(kernels::max_together, projections.size() - first);
    for (std::size_t index = 0; index < count; ++index) {
      const auto head = static_cast<std::int64_t>(first + index);
      products[index] = {&projections[first + index], x.columns_of(head), y.columns_of(head)};
    }
    project(context, std::span(products).first(count));
  }
}

}  // namespace cogen::cpu
