#include "scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace curves {

double prediction::surprise(std::size_t row, cogen::token id) const {
  const double score = logits.row(static_cast<std::int64_t>(row))[id];
  return normalizer[row] - score;
}

prediction predict(const cogen::matrix_view& logits) {
  prediction result{.logits = logits, .normalizer = {}, .best = {}};
  for (std::int64_t row = 0; row < logits.rows; ++row) {
    const auto scores = logits[row];
    const auto best = std::ranges::max_element(scores);
    const double most = *best;
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - most);
    result.normalizer.push_back(most + std::log(sum));
    result.best.push_back(static_cast<cogen::token>(best - scores.begin()));
  }
  return result;
}

// With p and q the softmax of a and b, log(p / q) = (a - b) - (log sum exp a - log sum exp b): differences of near
// numbers are taken before anything is rounded.
std::vector<double> divergence(const prediction& reference, const prediction& other) {
  std::vector<double> values;
  for (std::size_t row = 0; row < reference.rows(); ++row) {
    const auto a = reference.logits[static_cast<std::int64_t>(row)], b = other.logits[static_cast<std::int64_t>(row)];
    double weighted = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double score = a[i];
      weighted += std::exp(score - reference.normalizer[row]) * (score - b[i]);
    }
    values.push_back(weighted - (reference.normalizer[row] - other.normalizer[row]));
  }
  return values;
}

}  // namespace curves
