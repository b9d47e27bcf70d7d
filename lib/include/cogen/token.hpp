#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cogen {

/// A token id as the model's vocabulary numbers it, from 0.
using token = std::int32_t;

/// A token with the natural logarithm of its probability.
struct token_logprob {
  token id = 0;
  float logprob = 0;
};

/// A whole text, or a pair of texts, with the special tokens that the model expects around them.
struct encoder_text {
  std::vector<token> tokens;
  std::optional<int> second = {};  ///< of a pair: how many tokens come before its second text
};

/// Two texts that a model compares, a question and a passage say.
struct text_pair {
  std::string first;
  std::string second;  ///< the one that the first is compared with
};

/// What engine::async_embed() and async_score() read.
using encoder_input = std::variant<std::string, text_pair, encoder_text>;

/// Unnormalized scores of the tokens that may come next, after one or more tokens: [rows, vocabulary] float32. Cheap to
/// move.
class logits {
 public:
  logits() = default;
  /// `values` holds rows * vocabulary scores.
  logits(std::vector<float> values, int vocabulary) : values_(std::move(values)), vocabulary_(vocabulary) {}

  int vocabulary() const noexcept { return vocabulary_; }
  int rows() const noexcept { return vocabulary_ == 0 ? 0 : static_cast<int>(values_.size()) / vocabulary_; }

  /// The scores after fed token number `row`, in [0, rows()).
  std::span<const float> operator[](int row) const {
    return std::span(values_).subspan(static_cast<std::size_t>(row) * static_cast<std::size_t>(vocabulary_),
                                      static_cast<std::size_t>(vocabulary_));
  }

  std::span<const float> last() const { return (*this)[rows() - 1]; }  ///< after the last token: those of the next one

  /// Appends the rows of `more`.
  void append(const logits& more) {
    vocabulary_ = more.vocabulary_;
    values_.insert(values_.end(), more.values_.begin(), more.values_.end());
  }

  /// Drops all but the last `count` rows.
  void keep_last(int count) {
    const auto dropped = static_cast<std::ptrdiff_t>(std::max(0, rows() - count)) * vocabulary_;
    values_.erase(values_.begin(), values_.begin() + dropped);
  }

 private:
  std::vector<float> values_;
  int vocabulary_ = 0;
};

}  // namespace cogen
