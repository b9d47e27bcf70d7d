#pragma once

#include "layers/pass.hpp"
#include "layers/weight_reader.hpp"

#include <cogen/token.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cogen::layers {

/// One vector for each token of the vocabulary. Immutable.
class embedding {
 public:
  /// Reads the matrix `name` [vocabulary, hidden].
  embedding(weight_reader& weights, const std::string& name, std::int64_t vocabulary, std::int64_t hidden);

  /// The vectors of the tokens. out [tokens, hidden]
  void operator()(const pass& pass, std::span<const token> tokens, const activations& out) const;

  const std::shared_ptr<const kernels::packed_matrix>& table() const { return table_; }

 private:
  std::shared_ptr<const kernels::packed_matrix> table_;
};

/// Turns hidden states into logits: a matrix of its own, or the embedding's. Immutable.
class head {
 public:
  /// Tied: the logits are products with the embedding's vectors.
  explicit head(const embedding& tied) : weights_(tied.table()) {}

  /// Reads the matrix `name` [vocabulary, hidden].
  head(weight_reader& weights, const std::string& name, std::int64_t vocabulary, std::int64_t hidden);

  /// x [rows, hidden], logits [rows, vocabulary]
  void operator()(const pass& pass, const activations& x, const activations& logits) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>(weights_->bytes()); }

 private:
  std::shared_ptr<const kernels::packed_matrix> weights_;
};

}  // namespace cogen::layers
