#include "network/backend/cpu/add_result.hpp"
#include "network/backend/cpu/expert_rows.hpp"
#include "network/backend/cpu/operators.hpp"
#include "network/backend/cpu/top_k_routing.hpp"
#include "network/kernels/linear.hpp"
#include "network/kernels/row_tasks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

namespace cogen::cpu {

namespace {

/// Copies each row to its places among the packed ones, times its shares if they scale what experts read.
void pack(const forward_context& context, const expert_rows& places, const activations& x, bool scales_input,
          const activations& packed) {
  kernels::for_each_row(*context.run.workers, x.rows, x.columns, [&](std::int64_t row) {
    places.for_each_of(row, [&](std::int64_t place, float share) {
      const float factor = scales_input ? share : 1;
      std::transform(x.row(row), x.row(row) + x.columns, packed.row(place),
                     [=](float value) { return factor * value; });
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

operators::routed_rows operators::route(const activations& x, const forms::norm& pre_norm,
                                        const parts::mixture_of_experts<forms>& moe) const {
  const auto shares = context_.space.take(x.rows, moe.spec.experts + (moe.spec.shared ? 1 : 0));
  const auto rows = context_.space.take(x.rows, x.columns);
  if (pre_norm)
    (*pre_norm)(context_, x, rows);
  else
    for (std::int64_t row = 0; row < x.rows; ++row) std::copy_n(x.row(row), x.columns, rows.row(row));
  if (moe.router_norm) {
    const auto scratch = this->scratch();
    const auto read = context_.space.take(x.rows, x.columns);
    (*moe.router_norm)(context_, x, read);
    moe.router(context_.exact(), read, shares);
  } else {
    moe.router(context_.exact(), rows, shares);
  }
  choose(moe, shares);
  return {rows, shares};
}

void operators::choose(const parts::mixture_of_experts<forms>& moe, const activations& shares) const {
  const auto scratch = this->scratch();
  const auto experts = static_cast<std::size_t>(moe.spec.experts);
  const auto spare = context_.space.take(shares.rows, 2 * moe.spec.experts);
  kernels::for_each_row(*context_.run.workers, shares.rows, moe.spec.experts, [&](std::int64_t row) {
    choose_experts(moe.spec, moe.choice_bias, {shares.row(row), experts}, {spare.row(row), 2 * experts});
    std::transform(moe.share_scales.begin(), moe.share_scales.end(), shares.row(row), shares.row(row),
                   std::multiplies());
    std::fill_n(shares.row(row), moe.spec.first_expert(), 0.0F);  // those of other ranks
    const auto behind = moe.spec.first_expert() + moe.spec.own_experts();
    std::fill_n(shares.row(row) + behind, moe.spec.experts - behind, 0.0F);
    if (!moe.spec.shared) return;
    auto& share = shares.row(row)[experts];
    share = moe.spec.shared->gate.empty() ? 1 : 1 / (1 + std::exp(-share));
  });
}

void operators::add_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& moe,
                            const parts::residual<forms::norm>& update, const activations& x) const {
  if (moe.spec.owned) {
    const auto scratch = this->scratch();
    const auto sum = zeros_like(x);
    sum_experts(routed, moe, sum);
    sum_over_ranks(sum);
    return add_rows(sum, update, x);
  }
  add_result(
      context_, update, x, [&](const activations& out) { sum_experts(routed, moe, out); },
      [&](const activations& out) {
        std::fill_n(out.data, out.rows * out.stride, 0.0F);
        sum_experts(routed, moe, out);
      });
}

/// The rows that one expert reads, and its results.
struct operators::chosen_expert {
  const parts::mlp<forms>* expert;
  activations x;
  activations y;
};

/// Chosen experts whose products are made together, or one with more rows: threads wait for each other less often, and
/// all read weights until the last expert's are read.
class operators::expert_group {
 public:
  bool has_room_for(const chosen_expert& next) const {
    return count_ == 0 || (count_ < experts_.size() && rows_ + next.x.rows <= max_rows);
  }

  void add(const chosen_expert& next) {
    experts_[count_++] = next;
    rows_ += next.x.rows;
  }

  std::span<const chosen_expert> experts() const { return std::span(experts_).first(count_); }

 private:
  static constexpr std::int64_t max_rows = 128;

  std::array<chosen_expert, kernels::max_together> experts_;
  std::size_t count_ = 0;
  std::int64_t rows_ = 0;
};

void operators::sum_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& moe,
                            const activations& out) const {
  const std::span experts(moe.experts);
  if (!moe.spec.latent) return sum_experts(routed, moe, experts, moe.spec.first_expert(), out);
  const auto& [x, shares] = routed;
  const auto scratch = this->scratch();
  const auto latent = norm_linear(x, {}, moe.into_latent, moe.spec.latent->width);
  const auto sum = zeros_like(latent);
  const auto own = static_cast<std::size_t>(moe.spec.own_experts());
  sum_experts({latent, shares.columns_from(0, moe.spec.experts)}, moe, experts.first(own), moe.spec.first_expert(),
              sum);
  moe.out_of_latent.add(context_, sum, out);
  if (moe.spec.shared) sum_experts({x, shares.columns_from(moe.spec.experts, 1)}, moe, experts.subspan(own), 0, out);
}

/// Of some experts: from column `first` of the shares on, and in their last one the shared expert.
void operators::sum_experts(const routed_rows& routed, const parts::mixture_of_experts<forms>& moe,
                            std::span<const parts::mlp<forms>> experts, std::int64_t first,
                            const activations& out) const {
  const auto& [x, shares] = routed;
  const auto scratch = this->scratch();
  const expert_rows places(context_.space, shares, moe.spec.top_k + (moe.spec.shared ? 1 : 0));
  const auto packed = context_.space.take(places.count(), x.columns);
  const auto results = context_.space.take(places.count(), x.columns);
  const bool scales_input = moe.spec.router.scales_input;
  pack(context_, places, x, scales_input, packed);
  expert_group together;
  for (const auto& expert : experts) {
    const bool is_shared = moe.spec.shared && &expert == &moe.experts.back();
    const auto column = is_shared ? shares.columns - 1 : first + (&expert - experts.data());
    const chosen_expert next{&expert, places.rows_of(packed, column), places.rows_of(results, column)};
    if (next.x.rows == 0) continue;
    if (!together.has_room_for(next)) {
      feed_forward(together.experts());
      together = {};
    }
    together.add(next);
  }
  feed_forward(together.experts());
  add_packed(context_, places, results, scales_input, out);
}

void operators::feed_forward(std::span<const chosen_expert> experts) const {
  const auto scratch = this->scratch();
  std::array<projected_rows, kernels::max_together> products;
  std::array<std::optional<kernels::activated_rows>, kernels::max_together> inner;
  for (std::size_t index = 0; index < experts.size(); ++index) {
    const auto& [expert, x, y] = experts[index];
    products[index] = {&expert->up, x, context_.space.take(x.rows, expert->up.weights->outputs())};
  }
  project(context_, std::span(products).first(experts.size()));
  for (std::size_t index = 0; index < experts.size(); ++index) {
    const auto& [expert, x, y] = experts[index];
    const auto rows = activated(products[index].y, expert->activation, expert->intermediate);
    inner[index].emplace(context_.run, rows);
    products[index] = {&expert->down, {{rows.out.data, rows.rows, rows.width, rows.out.stride}, &*inner[index]}, y};
  }
  project(context_, std::span(products).first(experts.size()));
}

}  // namespace cogen::cpu
