#include "backend/cpu/top_k_routing.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace cogen::cpu {

namespace {

void softmax(std::span<float> row) {
  const float largest = *std::ranges::max_element(row);
  float sum = 0;
  for (auto& value : row) sum += value = std::exp(value - largest);
  for (auto& value : row) value /= sum;
}

void keep_largest(std::span<float> row, std::int64_t count) {
  for (std::int64_t pick = 0; pick < count; ++pick) {
    const auto next = std::ranges::max_element(row);
    *next = -*next;  // picked: below all that are not
  }
  for (auto& value : row) {
    if (!std::isnan(value)) value = std::max(0.0F, -value);
  }
}

}  // namespace

void choose_experts(const activations& logits, std::int64_t chosen) {
  for (std::int64_t index = 0; index < logits.rows; ++index) {
    const std::span row(logits.row(index), static_cast<std::size_t>(logits.columns));
    softmax(row);
    keep_largest(row, chosen);
  }
}

}  // namespace cogen::cpu
