#include "scores.hpp"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>

namespace curves {

namespace {

constexpr std::int64_t rows_at_once = 16;  // so that what is between two operations stays in the processor's cache

/// `piece(first, count)` for some rows after the others.
template <class Piece>
void in_pieces(std::int64_t rows, Piece piece) {
  for (std::int64_t first = 0; first < rows; first += rows_at_once) piece(first, std::min(rows_at_once, rows - first));
}

}  // namespace

double prediction::surprise(std::size_t row, cogen::token id) const {
  const float* scores = logits.const_data_ptr<float>() + static_cast<std::int64_t>(row) * logits.size(1);
  return normalizer[row] - static_cast<double>(scores[id]);
}

prediction predict(const at::Tensor& logits) {
  prediction result{.logits = logits, .normalizer = {}, .best = {}};
  in_pieces(logits.size(0), [&](std::int64_t first, std::int64_t count) {
    const auto piece = logits.narrow(0, first, count);
    const auto [most, best] = piece.max(1, true);
    const auto sums = piece.sub(most).exp_().sum(1, false, at::kDouble);
    for (std::int64_t row = 0; row < count; ++row) {
      result.normalizer.push_back(most.const_data_ptr<float>()[row] + std::log(sums.const_data_ptr<double>()[row]));
      result.best.push_back(static_cast<cogen::token>(best.const_data_ptr<std::int64_t>()[row]));
    }
  });
  return result;
}

// With p and q the softmax of a and b, log(p / q) = (a - b) - (log sum exp a - log sum exp b): differences of near
// numbers are taken before anything is rounded.
std::vector<double> divergence(const prediction& reference, const prediction& other) {
  std::vector<double> values;
  in_pieces(reference.logits.size(0), [&](std::int64_t first, std::int64_t count) {
    const auto a = reference.logits.narrow(0, first, count), b = other.logits.narrow(0, first, count);
    const auto weights = a.sub(std::get<0>(a.max(1, true))).exp_();
    const auto sums = weights.sum(1, false, at::kDouble);
    const auto weighted = a.sub(b).mul_(weights).sum(1, false, at::kDouble);
    for (std::int64_t row = 0; row < count; ++row) {
      const auto index = static_cast<std::size_t>(first + row);
      values.push_back(weighted.const_data_ptr<double>()[row] / sums.const_data_ptr<double>()[row] -
                       (reference.normalizer[index] - other.normalizer[index]));
    }
  });
  return values;
}

}  // namespace curves
