#pragma once

#include "kernels/token_rows.hpp"
#include "kernels/worker_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace cogen::kernels {

/// Calls body(row) for each row, in parallel only if the rows hold enough floats to be worth waking somebody.
template <class Body>
void for_each_row(worker_pool& workers, std::int64_t rows, std::int64_t floats_per_row, Body body) {
  constexpr std::int64_t floats_per_task = 4096;
  const std::int64_t per_task = std::max<std::int64_t>(1, floats_per_task / std::max<std::int64_t>(1, floats_per_row));
  workers.parallel((rows + per_task - 1) / per_task, [&](std::int64_t task, int) {
    for (std::int64_t row = task * per_task; row < std::min(rows, (task + 1) * per_task); ++row) body(row);
  });
}

/// Calls body(row, at) for token `at` of each row, in parallel over the tokens of all rows.
template <class Body>
void for_each_token(worker_pool& workers, std::span<const token_rows> rows, Body body) {
  constexpr std::int64_t tokens_per_task = 4;
  std::int64_t tokens = 0;
  for (const token_rows& row : rows) tokens += row.count;
  workers.parallel((tokens + tokens_per_task - 1) / tokens_per_task, [&](std::int64_t task, int) {
    std::int64_t skip = task * tokens_per_task;
    std::int64_t left = std::min(tokens_per_task, tokens - skip);
    for (const token_rows& row : rows) {
      for (std::int64_t at = skip; at < row.count && left > 0; ++at, --left) body(row, at);
      skip = std::max<std::int64_t>(0, skip - row.count);
      if (left == 0) return;
    }
  });
}

}  // namespace cogen::kernels
