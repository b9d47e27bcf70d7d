#pragma once

#include "network/nn/pooler.hpp"

#include <cogen/detail/cache/step.hpp>
#include <cogen/detail/matrix.hpp>
#include <cogen/model.hpp>

#include <span>
#include <vector>

namespace cogen::nn {

/// Texts that one pass of an encoder reads, one after the other: row i of the step is text i.
struct varlen_texts {
  cache::step step;
  std::vector<token> tokens;
  std::vector<int> seconds;  // tokens before the second text of each pair; empty if no text is a pair
  std::vector<int> outputs;  // tokens that the pooler reads, ascending

  varlen_texts(std::span<const encoder_text> texts, const pooler& pooling);

  /// Pools the hidden states of `outputs`, [outputs, hidden]. vectors [texts, pooling.width()]
  void pool(const pooler& pooling, const matrix_view& states, const matrix_view& vectors) const;
};

}  // namespace cogen::nn
