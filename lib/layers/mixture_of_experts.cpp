#include "layers/mixture_of_experts.hpp"

#include "layers/top_k_routing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cogen::layers {

namespace {

std::vector<mlp> read_experts(weight_reader& weights, const std::string& prefix, const models::moe_spec& spec,
                              std::int64_t hidden) {
  std::vector<mlp> experts;
  for (std::int64_t expert = 0; expert < spec.experts; ++expert)
    experts.emplace_back(weights, fmt::format("{}experts.{}.", prefix, expert), spec.expert, hidden);
  return experts;
}

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

mixture_of_experts::mixture_of_experts(weight_reader& weights, const std::string& prefix, const models::moe_spec& spec,
                                       std::int64_t hidden)
    : hidden_(hidden),
      top_k_(spec.top_k),
      router_(weights, prefix, {{spec.router, spec.experts}}, hidden, false),
      experts_(read_experts(weights, prefix, spec, hidden)) {}

void mixture_of_experts::add(const forward_context& context, const activations& x, const activations& out) const {
  const arena::scope scratch(context.space);
  const auto shares = context.space.take(x.rows, static_cast<std::int64_t>(experts_.size()));
  const auto gathered = context.space.take(x.rows, hidden_);
  const auto results = context.space.take(x.rows, hidden_);
  router_(context.exact(), x, shares);
  choose_experts(shares, top_k_);
  for (std::int64_t expert = 0; expert < shares.columns; ++expert) {
    const auto own = gather(shares, expert, x, gathered);
    if (own.rows == 0) continue;
    std::fill_n(results.data, own.rows * hidden_, 0.0F);
    experts_[static_cast<std::size_t>(expert)].add(context, own, results.first_rows(own.rows));
    scatter(shares, expert, results, out);
  }
}

std::int64_t mixture_of_experts::bytes() const {
  std::int64_t bytes = router_.bytes();
  for (const auto& expert : experts_) bytes += expert.bytes();
  return bytes;
}

}  // namespace cogen::layers
