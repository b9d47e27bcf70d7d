#include "backend/cpu/add_result.hpp"
#include "backend/cpu/expert_rows.hpp"
#include "backend/cpu/operators.hpp"
#include "backend/cpu/top_k_routing.hpp"
#include "kernels/row_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace cogen::cpu {

namespace {

/// Copies each row to its places among the packed ones, times its shares if they scale what experts read.
void pack(const forward_context& context, const expert_rows& places, const activations& x, bool scales_input,
          const activations& packed) {
  kernels::for_each_row(*context.run.workers, x.rows, x.columns, [&](std::int64_t row) {
    places.for_each_of(row, [&](std::int64_t place, float share) {
      const float factor = scales_input ? share : 1;
      std::transform(x.row(row), x.row(row) + x.columns, packed.row(place), [=](float of) { return factor * of; });
    });
  });
}

/// Adds to each row the results at its places, times its shares unless these have scaled what experts read.
void add_packed(const forward_context& context, const expert_rows& places, const activations& results,
                bool scaled_input, const activations& out) {
  kernels::for_each_row(*context.run.workers, out.rows, out.columns, [&](std::int64_t row) {
    float* sum = out.row(row);
    places.for_each_of(row, [&](std::int64_t place, float share) {
      const float* result = results.row(place);
      const float factor = scaled_input ? 1 : share;
      for (std::int64_t column = 0; column < out.columns; ++column) sum[column] += factor * result[column];
    });
  });
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
  if (by.router_norm) {
    const auto scratch = this->scratch();
    const auto read = context_.space.take(x.rows, x.columns);
    (*by.router_norm)(context_, x, read);
    by.router(context_.exact(), read, shares);
  } else {
    by.router(context_.exact(), rows, shares);
  }
  choose(by, shares);
  return {rows, shares};
}

void operators::choose(const parts::mixture_of_experts<forms>& by, const activations& shares) const {
  const auto scratch = this->scratch();
  const auto experts = static_cast<std::size_t>(by.how.experts);
  const auto spare = context_.space.take(shares.rows, 2 * by.how.experts);
  kernels::for_each_row(*context_.run.workers, shares.rows, by.how.experts, [&](std::int64_t row) {
    choose_experts(by.how, by.choice_bias, {shares.row(row), experts}, {spare.row(row), 2 * experts});
    std::transform(by.share_scales.begin(), by.share_scales.end(), shares.row(row), shares.row(row), std::multiplies());
    if (!by.how.shared) return;
    auto& share = shares.row(row)[experts];
    share = by.how.shared->gate.empty() ? 1 : 1 / (1 + std::exp(-share));
  });
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
  const expert_rows places(context_.space, shares, by.how.top_k + (by.how.shared ? 1 : 0));
  const auto packed = context_.space.take(places.count(), x.columns);
  const auto results = context_.space.take(places.count(), x.columns);
  const bool scales_input = by.how.router.scales_input;
  pack(context_, places, x, scales_input, packed);
  for (std::int64_t expert = 0; expert < shares.columns; ++expert)
    feed_forward(by.experts[static_cast<std::size_t>(expert)], places.of(packed, expert), places.of(results, expert));
  add_packed(context_, places, results, scales_input, out);
}

void operators::feed_forward(const parts::mlp<forms>& by, const activations& x, const activations& y) const {
  if (x.rows == 0) return;
  const auto scratch = this->scratch();
  const auto inner = norm_activated(x, {}, by.up, by.activation, by.intermediate);
  const kernels::activated_rows rows(context_.run, inner);
  by.down(context_, {{inner.out, inner.rows, inner.width, inner.out_stride}, &rows}, y);
}

}  // namespace cogen::cpu
