#pragma once

#include "network/models/model_spec.hpp"
#include "network/weights/matrix_rows.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cogen::nn {

/// A norm of one vector.
class vector_norm {
 public:
  vector_norm(const models::norm_spec& spec, std::int64_t width, const weights::read_numbers& read);
  void operator()(std::span<float> x) const;

 private:
  models::norm_spec spec_;
  std::vector<float> weight_, bias_;
};

/// A dense layer for one vector.
class vector_dense {
 public:
  vector_dense(const models::dense_spec& spec, const weights::read_numbers& read);
  std::vector<float> operator()(std::span<const float> x) const;

 private:
  models::dense_spec spec_;
  std::vector<float> columns_;  // [inputs, outputs]
  std::vector<float> bias_;     // [outputs]
  std::optional<vector_norm> norm_;
};

/// Makes one vector of a text's hidden states. Each text's sums run in one order, so its bits depend on nothing else.
/// Immutable and thread-safe.
class pooler {
 public:
  /// `spec` has a pooling, whose hidden states are normed by its last norm.
  pooler(const models::model_spec& spec, std::int64_t hidden, const weights::read_numbers& read);

  /// Numbers in a vector.
  std::int64_t width() const noexcept { return width_; }
  bool scores() const noexcept { return spec_.scores; }

  /// Which of a text's `count` tokens, the first of which is number `first`, are read: appends their numbers.
  void add_read_tokens(int first, int count, std::vector<int>& outputs) const;

  /// `states` are the hidden states of the tokens that are read, before the last norm, [tokens, hidden]; they are
  /// modified. out [width]
  void operator()(std::span<float> states, std::span<float> out) const;

 private:
  models::pooling_spec spec_;
  std::size_t hidden_;
  std::int64_t width_;
  std::optional<vector_norm> norm_;
  std::vector<vector_dense> dense_;
};

}  // namespace cogen::nn
