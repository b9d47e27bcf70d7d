#include "network/backend/cpu/operators.hpp"
#include "network/backend/cpu/row_arithmetic.hpp"
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
void predict(std::span<const float> factors, std::int64_t streams, std::int64_t hidden, float* all, float* before) {
  std::copy_n(all, streams * hidden, before);
  for (std::int64_t i = 0; i < streams; ++i)
    for (std::int64_t j = 0; j < streams; ++j) {
      const float factor = factors[static_cast<std::size_t>(i * streams + j)];
      for (std::int64_t d = 0; d < hidden; ++d) all[i * hidden + d] += factor * before[j * hidden + d];
    }
}

/// s[i] += (1 + factors[i]) * (x - s[active])
void correct(std::span<const float> factors, std::int64_t active, std::int64_t hidden, const float* x, float* all,
             float* change) {
  for (std::int64_t d = 0; d < hidden; ++d) change[d] = x[d] - all[active * hidden + d];
  for (const float factor : factors) {
    for (std::int64_t d = 0; d < hidden; ++d) all[d] += (1 + factor) * change[d];
    all += hidden;
  }
}

}  // namespace

activations operators::low_rank(const activations& x, const forms::norm& before,
                                const parts::low_rank<forms>& by) const {
  const auto normed = context_.space.take(x.rows, x.columns);
  const auto scratch = this->scratch();
  (*before)(context_, x, normed);
  const auto left = context_.space.take(x.rows, by.rank);
  const auto right = context_.space.take(x.rows, x.columns);
  by.left(context_, normed, left);
  by.right(context_, left, right);
  by.norm->add(context_, right, normed);
  return normed;
}

activations operators::stream(std::int64_t index, std::int64_t hidden) const {
  return streams_.columns_from(index * hidden, hidden);
}

void operators::start_streams(const parts::streams<forms>& by, const activations& x) {
  streams_ = context_.space.take(x.rows, by.count() * x.columns);
  copy_rows(x, stream(0, x.columns));
  for (std::int64_t index = 1; index < by.count(); ++index) {
    const auto made = stream(index, x.columns);
    by.in[static_cast<std::size_t>(index) - 1](context_, x, made);
    rescale(context_, x, made);
  }
}

void operators::step_streams(const parts::stream_step<forms>& by, const activations& x) {
  if (x.rows < streams_.rows) streams_ = keep(streams_);
  const auto scratch = this->scratch();
  const auto exact = context_.exact();
  const auto count = by.how.streams, active = by.how.active;
  const auto read = by.how.corrects ? x : stream(active, x.columns);
  const auto normed = context_.space.take(x.rows, x.columns);
  const auto modes = context_.space.take(x.rows, count);
  const auto factors = context_.space.take(x.rows, by.how.corrects ? count : count * count);
  const auto spare = context_.space.take(x.rows, streams_.columns);
  (*by.norm)(context_, read, normed);
  by.router(exact, normed, modes);
  for (std::int64_t row = 0; row < x.rows; ++row)
    std::for_each_n(modes.row(row), count, [](float& value) { value = std::tanh(value); });
  by.coefficients(exact, modes, factors);
  kernels::for_each_row(*context_.run.workers, x.rows, streams_.columns, [&](std::int64_t row) {
    const std::span<const float> by_row(factors.row(row), static_cast<std::size_t>(factors.columns));
    if (by.how.corrects)
      correct(by_row, active, x.columns, x.row(row), streams_.row(row), spare.row(row));
    else
      predict(by_row, count, x.columns, streams_.row(row), spare.row(row));
    std::copy_n(streams_.row(row) + active * x.columns, x.columns, x.row(row));
    std::transform(by.scale.begin(), by.scale.end(), x.row(row), x.row(row), std::multiplies());
  });
}

void operators::join_streams(const parts::streams<forms>& by, const activations& x) {
  const auto scratch = this->scratch();
  const auto made = context_.space.take(x.rows, x.columns);
  const auto first = stream(0, x.columns);
  copy_rows(first, x);
  for (std::int64_t index = 1; index < by.count(); ++index) {
    by.out[static_cast<std::size_t>(index) - 1](context_, stream(index, x.columns), made);
    rescale(context_, first, made);
    cpu::add_rows(context_, made, 1, x);
  }
  scale_rows(context_, 1 / static_cast<float>(by.count()), x);
}

void operators::linear_add_to_streams(const kernels::activation_operands& y, const projection& by,
                                      const forms::norm& after) const {
  const auto scratch = this->scratch();
  const kernels::activated_rows rows(context_.run, y);
  const auto hidden = by.weights->outputs();
  const auto made = context_.space.take(y.rows, hidden);
  by(context_, {{y.out, y.rows, y.width, y.out_stride}, &rows}, made);
  (*after)(context_, made, made);
  for (std::int64_t first = hidden; first < streams_.columns; first += hidden)
    cpu::add_rows(context_, made, 1, streams_.columns_from(first, hidden));
}

}  // namespace cogen::cpu
