#pragma once

#include "reader.hpp"

#include <cstddef>
#include <vector>

namespace curves {

/// What logits [rows, vocabulary] say, one entry a row.
struct prediction {
  cogen::matrix_view logits;
  std::vector<double> normalizer;  // log of the sum of exp(logits)
  std::vector<cogen::token> best;  // the most likely token

  std::size_t rows() const noexcept { return best.size(); }

  /// Natural logarithm of one over the probability of `id`.
  double surprise(std::size_t row, cogen::token id) const;
};

/// Refers to the logits.
prediction predict(const cogen::matrix_view& logits);

/// Kullback-Leibler divergence of `other` from `reference` in nats, row by row.
std::vector<double> divergence(const prediction& reference, const prediction& other);

}  // namespace curves
