#include "backend/cpu/add_result.hpp"
#include "backend/cpu/operators.hpp"
#include "backend/cpu/top_k_routing.hpp"

#include <algorithm>

namespace cogen::cpu {

namespace {

/// Copies the rows in which an expert has a share to the front of `own`, and returns these.
activations gather(const activations& shares, std::int64_t expert, const activations& x, const activations& own) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    if (shares.row(row)[expert] != 0) std::copy_n(x.row(row), x.columns, own.row(count++));
  }
  return own.first_rows(count);
}

/// Adds the results, times the shares, to the rows that they were gathered from.
void scatter(const activations& shares, std::int64_t expert, const activations& results, const activations& out) {
  std::int64_t next = 0;
  for (std::int64_t row = 0; row < out.rows; ++row) {
    const float share = shares.row(row)[expert];
    if (share == 0) continue;
    const float* result = results.row(next++);
    float* sum = out.row(row);
    for (std::int64_t column = 0; column < out.columns; ++column) sum[column] += share * result[column];
  }
}

}  // namespace

operators::routed_rows operators::route(const activations& x, const forms::norm& before,
                                        const parts::mixture_of_experts<forms>& by) const {
  const auto shares = context_.space.take(x.rows, static_cast<std::int64_t>(by.experts.size()));
  const auto rows = context_.space.take(x.rows, x.columns);
  if (before)
    (*before)(context_, x, rows);
  else
    for (std::int64_t row = 0; row < x.rows; ++row) std::copy_n(x.row(row), x.columns, rows.row(row));
  by.router(context_.exact(), rows, shares);
  choose_experts(shares, by.top_k);
  return {rows, shares};
}

void operators::add_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& by,
                            const parts::residual<forms::norm>& how, const activations& x) const {
  add_result(
      context_, how, x, [&](const activations& out) { sum_experts(routed, by, out); },
      [&](const activations& out) {
        std::fill_n(out.data, out.rows * out.stride, 0.0F);
        sum_experts(routed, by, out);
      });
}

void operators::sum_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& by,
                            const activations& out) const {
  const auto& [x, shares] = routed;
  const auto scratch = this->scratch();
  const auto gathered = context_.space.take(x.rows, x.columns);
  const auto results = context_.space.take(x.rows, x.columns);
  for (std::int64_t expert = 0; expert < shares.columns; ++expert) {
    const auto own = gather(shares, expert, x, gathered);
    if (own.rows == 0) continue;
    const auto& [up, activation, intermediate, down] = by.experts[static_cast<std::size_t>(expert)];
    const auto of_expert = this->scratch();
    const auto inner = norm_activated(own, {}, up, activation, intermediate);
    std::fill_n(results.data, own.rows * results.stride, 0.0F);
    linear_add(inner, down, {}, results.first_rows(own.rows));
    scatter(shares, expert, results, out);
  }
}

}  // namespace cogen::cpu
