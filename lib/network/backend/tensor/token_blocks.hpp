#pragma once

#include "network/backend/tensor/slot_rows.hpp"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cogen::device {

/// Tokens of a step: as many of each of some sequences, which follow one another.
struct token_block {
  std::int64_t first;
  std::int64_t sequences;
  std::int64_t count;

  /// [sequences, count, …] of [tokens, …]
  at::Tensor slice(const at::Tensor& tokens) const {
    return tokens.narrow(0, first, sequences * count).unflatten(0, {sequences, count});
  }
};

/// Columns [first, first + heads * head_dim) of some tokens, [sequences, tokens, heads, head_dim] float32.
at::Tensor heads_of(const at::Tensor& tokens, const token_block& which, std::int64_t first, std::int64_t heads,
                    const attention_shape& shape);

/// Writes what heads found, [sequences, tokens, heads, width], to the first numbers of each head in `out`.
void write(const at::Tensor& found, const token_block& which, const attention_shape& shape, const at::Tensor& out);

/// Zeros for padding.
at::Tensor without_padding(const at::Tensor& found, const slot_rows& rows);

/// The most numbers that single rows read at a time.
inline constexpr std::int64_t numbers_at_once = std::int64_t{1} << 24;

/// Calls run(block, slots) for rows of a single token, as many at a time as may read `numbers` numbers each.
template <class Run>
void for_single_rows(const step_rows& rows, std::int64_t numbers, const Run& run) {
  const auto at_once = std::max<std::int64_t>(1, numbers_at_once / std::max<std::int64_t>(1, numbers));
  for (std::int64_t first = 0; first < rows.single; first += at_once) {
    const token_block some{first, std::min(at_once, rows.single - first), 1};
    run(some, slot_rows(rows.slots.narrow(0, first, some.sequences)));
  }
}

/// Calls run(block, prompt) for the others.
template <class Run>
void for_prompts(const step_rows& rows, const Run& run) {
  auto first = rows.single;
  for (const auto& prompt : rows.prompts)
    run(token_block{std::exchange(first, first + prompt.count), 1, prompt.count}, prompt);
}

}  // namespace cogen::device
