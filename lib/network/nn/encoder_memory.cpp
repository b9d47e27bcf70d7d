#include "network/nn/encoder_memory.hpp"

#include <algorithm>
#include <utility>

namespace cogen::nn {

namespace {

cache::step numbered(const cache::step& step) {
  std::vector<cache::step_row> rows(step.rows().begin(), step.rows().end());
  for (std::size_t index = 0; index < rows.size(); ++index) rows[index].slot = static_cast<int>(index);
  return cache::step(rows);
}

cache::cache memory_for(const cache::step& step, const cache::kv_cache_spec& shape) {
  int longest = 0;
  for (const auto& row : step.rows()) longest = std::max(longest, row.count);
  const std::vector<cache::kv_cache_spec> shapes{
      {.kind = cache::layer_kind::cross, .kv_heads = shape.kv_heads, .head_dim = shape.head_dim}};
  return {shapes,
          {.type = cache::scalar::f32,
           .slots = static_cast<int>(step.rows().size()),
           .max_sequence_length = longest,
           .max_encoder_length = longest}};
}

}  // namespace

encoder_memory::encoder_memory(const cache::step& texts, const cache::kv_cache_spec& shape)
    : step(numbered(texts)), memory(memory_for(step, shape)) {
  for (std::size_t index = 0; index < step.rows().size(); ++index)
    rows.push_back({.first = step.first(static_cast<int>(index)), .count = step.rows()[index].count});
  memory.reserve_encoder(step);
}

}  // namespace cogen::nn
