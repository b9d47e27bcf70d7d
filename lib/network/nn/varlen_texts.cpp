#include "network/nn/varlen_texts.hpp"

#include <algorithm>

namespace cogen::nn {

namespace {

cache::step step_of(std::span<const encoder_text> texts) {
  std::vector<cache::step_row> rows;
  for (const auto& text : texts)
    rows.push_back({.slot = static_cast<int>(rows.size()), .count = static_cast<int>(text.tokens.size())});
  return cache::step(rows);
}

}  // namespace

varlen_texts::varlen_texts(std::span<const encoder_text> texts, const pooler& pooling) : step(step_of(texts)) {
  const bool has_pairs = std::ranges::any_of(texts, [](const auto& text) { return text.second.has_value(); });
  for (const auto& text : texts) {
    const auto count = static_cast<int>(text.tokens.size());
    pooling.add_read_tokens(static_cast<int>(tokens.size()), count, outputs);
    tokens.insert(tokens.end(), text.tokens.begin(), text.tokens.end());
    if (has_pairs) seconds.push_back(text.second.value_or(count));
  }
}

void varlen_texts::pool(const pooler& pooling, const matrix_view& states, const matrix_view& vectors) const {
  std::vector<float> own;
  std::size_t next = 0;
  for (int row = 0; row < static_cast<int>(step.rows().size()); ++row) {
    const int end = step.first(row) + step.rows()[static_cast<std::size_t>(row)].count;
    own.clear();
    for (; next < outputs.size() && outputs[next] < end; ++next)
      own.insert(own.end(), states[static_cast<std::int64_t>(next)].begin(),
                 states[static_cast<std::int64_t>(next)].end());
    pooling(own, vectors[row]);
  }
}

}  // namespace cogen::nn
