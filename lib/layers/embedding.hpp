#pragma once

#include "layers/forward_context.hpp"
#include "layers/weight_reader.hpp"

#include <cogen/token.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cogen::layers {

/// One vector for each token of the vocabulary, times a scale. Immutable.
class embedding {
 public:
  /// Reads the matrix `name` [vocabulary, hidden].
  embedding(weight_reader& weights, const std::string& name, std::int64_t vocabulary, std::int64_t hidden,
            double scale = 1);

  /// The vectors of the tokens. out [tokens, hidden]
  void operator()(const forward_context& context, std::span<const token> tokens, const activations& out) const;

  const std::shared_ptr<const kernels::tiled_matrix>& table() const { return table_; }

 private:
  std::shared_ptr<const kernels::tiled_matrix> table_;
  float scale_;
};

/// One vector for each position that a sequence may have. Immutable.
class learned_positions {
 public:
  /// Reads the matrix `name` [offset + positions, hidden]; its first `offset` rows are not used.
  learned_positions(weight_reader& weights, const std::string& name, std::int64_t offset, std::int64_t positions,
                    std::int64_t hidden);

  /// Adds the vectors of the step's positions. out [step.tokens(), hidden]
  void add(const forward_context& context, const activations& out) const;

 private:
  std::int64_t hidden_;
  std::vector<float> table_;  // [positions, hidden]
};

/// Turns hidden states into logits with its own matrix, or with the embedding's, unscaled. Immutable.
class head {
 public:
  /// Tied: the logits are products with the embedding's vectors.
  explicit head(const embedding& tied) : weights_(tied.table()) {}

  /// Reads the matrix `name` [vocabulary, hidden].
  head(weight_reader& weights, const std::string& name, std::int64_t vocabulary, std::int64_t hidden);

  /// x [rows, hidden], logits [rows, vocabulary]
  void operator()(const forward_context& context, const activations& x, const activations& logits) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>(weights_->bytes()); }

 private:
  std::shared_ptr<const kernels::tiled_matrix> weights_;
};

}  // namespace cogen::layers
