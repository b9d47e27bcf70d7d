#include "network/backend/cpu/row_arithmetic.hpp"

#include "network/kernels/activation.hpp"
#include "network/kernels/row_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace cogen::cpu {

namespace {

template <class Body>
void for_each(const forward_context& context, const activations& x, const Body& body) {
  kernels::for_each_row(*context.run.workers, x.rows, x.columns, [&](std::int64_t row) { body(row, x.row(row)); });
}

}  // namespace

activations keep(std::span<const int> outputs, const activations& x) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (static_cast<std::size_t>(outputs[i]) == i) continue;
    std::copy_n(x.row(outputs[i]), x.columns, x.row(static_cast<std::int64_t>(i)));
  }
  return x.first_rows(static_cast<std::int64_t>(outputs.size()));
}

void copy_rows(const activations& x, const activations& out) {
  for (std::int64_t row = 0; row < x.rows; ++row) std::copy_n(x.row(row), x.columns, out.row(row));
}

void add_rows(const forward_context& context, const activations& x, float factor, const activations& out) {
  for_each(context, x, [&](std::int64_t row, const float* source) {
    float* target = out.row(row);
    for (std::int64_t column = 0; column < x.columns; ++column) target[column] += factor * source[column];
  });
}

void multiply_rows(const forward_context& context, const activations& x, const activations& out) {
  for_each(context, x, [&](std::int64_t row, const float* source) {
    float* target = out.row(row);
    for (std::int64_t column = 0; column < x.columns; ++column) target[column] *= source[column];
  });
}

void scale_rows(const forward_context& context, float factor, const activations& x) {
  for_each(context, x, [&](std::int64_t, float* values) {
    std::for_each_n(values, x.columns, [factor](float& value) { value *= factor; });
  });
}

void add_bias(const forward_context& context, std::span<const float> bias, const activations& x) {
  for_each(context, x, [&](std::int64_t, float* values) {
    std::transform(bias.begin(), bias.end(), values, values, std::plus<>());
  });
}

void activate_rows(const forward_context& context, kernels::activation kind, const activations& x,
                   const activations& factor, const activations& out) {
  kernels::activate(context.run,
                    {.kind = kind, .x = x, .factor = factor, .out = out, .rows = x.rows, .width = x.columns});
}

void cut_off(const forward_context& context, float deviations, const activations& x) {
  for_each(context, x, [&](std::int64_t, float* values) {
    const auto count = static_cast<double>(x.columns);
    const double mean = std::accumulate(values, values + x.columns, 0.0) / count;
    const double squares = std::accumulate(values, values + x.columns, 0.0, [mean](double sum, float value) {
      return sum + (value - mean) * (value - mean);
    });
    const auto cutoff = static_cast<float>(mean + deviations * std::sqrt(squares / count));
    std::for_each_n(values, x.columns, [cutoff](float& value) { value = std::max(0.0F, value - cutoff); });
  });
}

void cap(const forward_context& context, const activations& x, float limit) {
  kernels::activate(context.run, {.kind = kernels::activation::softcap,
                                  .x = x,
                                  .out = x,
                                  .rows = x.rows,
                                  .width = x.columns,
                                  .parameters = &limit});
}

}  // namespace cogen::cpu
