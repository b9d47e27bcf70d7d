#include "network/backend/cpu/operators.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"
#include "network/kernels/rounded.hpp"
#include "network/kernels/row_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

namespace cogen::cpu {

namespace {

float mean_square(const float* row, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += double{row[i]} * row[i];
  return static_cast<float>(sum / static_cast<double>(count));
}

/// Each row gets the magnitude of that of `like`.
void rescale(const forward_context& context, const activations& like, const activations& x) {
  constexpr float least = 1e-5F;
  kernels::for_each_row(*context.run.workers, x.rows, x.columns, [&](std::int64_t row) {
    const float wanted = std::sqrt(mean_square(like.row(row), x.columns));
    const float factor = wanted / std::sqrt(std::max(mean_square(x.row(row), x.columns), least));
    std::for_each_n(x.row(row), x.columns, [factor](float& value) { value *= factor; });
  });
}

/// s[i] += sum over j of factors[i, j] * s[j]
void predict(std::span<const float> factors, std::int64_t streams, std::int64_t hidden, float* states,
             float* previous) {
  std::copy_n(states, streams * hidden, previous);
  for (std::int64_t i = 0; i < streams; ++i)
    for (std::int64_t j = 0; j < streams; ++j) {
      const float factor = factors[static_cast<std::size_t>(i * streams + j)];
      for (std::int64_t d = 0; d < hidden; ++d) states[i * hidden + d] += factor * previous[j * hidden + d];
    }
}

/// s[i] += (1 + factors[i]) * (x - s[active])
void correct(std::span<const float> factors, std::int64_t active, std::int64_t hidden, const float* x, float* states,
             float* change) {
  for (std::int64_t d = 0; d < hidden; ++d) change[d] = x[d] - states[active * hidden + d];
  for (const float factor : factors) {
    for (std::int64_t d = 0; d < hidden; ++d) states[d] += (1 + factor) * change[d];
    states += hidden;
  }
}

}  // namespace

activations operators::low_rank(const activations& x, const forms::norm& pre_norm,
                                const parts::low_rank<forms>& part) const {
  const auto normed = context_.space.take(x.rows, x.columns);
  const auto scratch = this->scratch();
  (*pre_norm)(context_, x, normed);
  const auto left = context_.space.take(x.rows, part.rank);
  const auto right = context_.space.take(x.rows, x.columns);
  part.left(context_, normed, left);
  part.right(context_, left, right);
  part.norm->add(context_, right, normed);
  return normed;
}

activations operators::stream(std::int64_t index, std::int64_t hidden) const {
  return streams_.columns_from(index * hidden, hidden);
}

void operators::start_streams(const parts::streams<forms>& part, const activations& x) {
  streams_ = context_.space.take(x.rows, part.count() * x.columns);
  copy_rows(x, stream(0, x.columns));
  for (std::int64_t index = 1; index < part.count(); ++index) {
    const auto target = stream(index, x.columns);
    part.in[static_cast<std::size_t>(index) - 1](context_, x, target);
    rescale(context_, x, target);
  }
}

void operators::step_streams(const parts::stream_step<forms>& step, const activations& x) {
  if (x.rows < streams_.rows) streams_ = keep(streams_);
  const auto scratch = this->scratch();
  const auto exact = context_.exact();
  const auto count = step.spec.streams, active = step.spec.active;
  const auto read = step.spec.corrects ? x : stream(active, x.columns);
  const auto normed = context_.space.take(x.rows, x.columns);
  const auto modes = context_.space.take(x.rows, count);
  const auto factors = context_.space.take(x.rows, step.spec.corrects ? count : count * count);
  const auto spare = context_.space.take(x.rows, streams_.columns);
  (*step.norm)(context_, read, normed);
  step.router(exact, normed, modes);
  for (std::int64_t row = 0; row < x.rows; ++row)
    std::for_each_n(modes.row(row), count, [](float& value) { value = kernels::rounded_tanh(value); });
  step.coefficients(exact, modes, factors);
  kernels::for_each_row(*context_.run.workers, x.rows, streams_.columns, [&](std::int64_t row) {
    const std::span<const float> by_row(factors.row(row), static_cast<std::size_t>(factors.columns));
    if (step.spec.corrects)
      correct(by_row, active, x.columns, x.row(row), streams_.row(row), spare.row(row));
    else
      predict(by_row, count, x.columns, streams_.row(row), spare.row(row));
    std::copy_n(streams_.row(row) + active * x.columns, x.columns, x.row(row));
    std::transform(step.scale.begin(), step.scale.end(), x.row(row), x.row(row), std::multiplies());
  });
}

void operators::join_streams(const parts::streams<forms>& part, const activations& x) {
  const auto scratch = this->scratch();
  const auto projected = context_.space.take(x.rows, x.columns);
  const auto first = stream(0, x.columns);
  copy_rows(first, x);
  for (std::int64_t index = 1; index < part.count(); ++index) {
    part.out[static_cast<std::size_t>(index) - 1](context_, stream(index, x.columns), projected);
    rescale(context_, first, projected);
    cpu::add_rows(context_, projected, 1, x);
  }
  scale_rows(context_, 1 / static_cast<float>(part.count()), x);
}

void operators::linear_add_to_streams(const kernels::activation_operands& y, const projection& linear,
                                      const forms::norm& after) const {
  const auto scratch = this->scratch();
  const kernels::activated_rows rows(context_.run, y);
  const auto hidden = linear.weights->outputs();
  const auto result = context_.space.take(y.rows, hidden);
  linear(context_, {{y.out.data, y.rows, y.width, y.out.stride}, &rows}, result);
  (*after)(context_, result, result);
  for (std::int64_t first = hidden; first < streams_.columns; first += hidden)
    cpu::add_rows(context_, result, 1, streams_.columns_from(first, hidden));
}

}  // namespace cogen::cpu
