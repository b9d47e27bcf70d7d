#pragma once

#include "layers/forward_context.hpp"
#include "layers/weight_reader.hpp"

#include <cogen/token.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cogen::layers {

/// One vector for each token of the vocabulary, times a scale. Immutable.
class embedding {
 public:
  /// table [vocabulary, hidden]
  embedding(std::shared_ptr<const kernels::tiled_matrix> table, double scale)
      : table_(std::move(table)), scale_(static_cast<float>(scale)) {}

  /// The vectors of the tokens. out [tokens, hidden]
  void operator()(const forward_context& context, std::span<const token> tokens, const activations& out) const;

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

/// Turns hidden states into logits with a matrix of its own or with the embedding's, unscaled. Immutable.
class head {
 public:
  /// weights [vocabulary, hidden]
  explicit head(std::shared_ptr<const kernels::tiled_matrix> weights) : weights_(std::move(weights)) {}

  /// x [rows, hidden], logits [rows, vocabulary]
  void operator()(const forward_context& context, const activations& x, const activations& logits) const;

  std::int64_t bytes() const { return static_cast<std::int64_t>(weights_->bytes()); }

 private:
  std::shared_ptr<const kernels::tiled_matrix> weights_;
};

}  // namespace cogen::layers
