#pragma once

#include "network/kernels/token_rows.hpp"
#include "network/kernels/worker_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace cogen::kernels {

/// Calls body(row) for each row, in parallel only if the rows hold enough floats to be worth waking a worker.
template <class Body>
void for_each_row(worker_pool& workers, std::int64_t rows, std::int64_t floats_per_row, Body body) {
  constexpr std::int64_t floats_per_task = 4096;
  const std::int64_t per_task = std::max<std::int64_t>(1, floats_per_task / std::max<std::int64_t>(1, floats_per_row));
  const std::int64_t tasks = (rows + per_task - 1) / per_task;
  workers.parallel(tasks, [&](std::int64_t task, int) {
    for (std::int64_t row = rows * task / tasks; row < rows * (task + 1) / tasks; ++row) body(row);
  });
}

/// Calls body(row, index) for token `index` of each row, in parallel over the tokens of all rows. Neighbors, whose keys
/// share cache lines, mostly fall to one thread.
template <class Body>
void for_each_token(worker_pool& workers, std::span<const token_rows> rows, Body body) {
  std::int64_t tokens = 0;
  for (const token_rows& row : rows) tokens += row.count;
  const std::int64_t tokens_per_task = std::clamp<std::int64_t>(tokens / workers.threads(), 4, 32);
  workers.parallel((tokens + tokens_per_task - 1) / tokens_per_task, [&](std::int64_t task, int) {
    std::int64_t skip = task * tokens_per_task;
    std::int64_t left = std::min(tokens_per_task, tokens - skip);
    for (const token_rows& row : rows) {
      for (std::int64_t index = skip; index < row.count && left > 0; ++index, --left) body(row, index);
      skip = std::max<std::int64_t>(0, skip - row.count);
      if (left == 0) return;
    }
  });
}

/// Channels of a block, whose states, a few KiB, stay close to the processor from token to token.
constexpr std::int64_t state_block = 64;

constexpr std::int64_t blocks_of(std::int64_t channels) { return (channels + state_block - 1) / state_block; }

/// Calls body(row, block) for each of `blocks` blocks of each row, in parallel; a block's work grows with the row's
/// tokens times `floats_per_block`.
template <class Body>
void for_each_block(worker_pool& workers, std::span<const token_rows> rows, std::int64_t blocks,
                    std::int64_t floats_per_block, Body body) {
  constexpr std::int64_t floats_per_task = 16384;
  if (rows.empty()) return;
  std::int64_t tokens = 0;
  for (const token_rows& row : rows) tokens += row.count;
  const std::int64_t total = blocks * static_cast<std::int64_t>(rows.size());
  const std::int64_t floats = floats_per_block * tokens / static_cast<std::int64_t>(rows.size());
  const std::int64_t per_task = std::max<std::int64_t>(1, floats_per_task / std::max<std::int64_t>(1, floats));
  workers.parallel((total + per_task - 1) / per_task, [&](std::int64_t task, int) {
    for (std::int64_t index = task * per_task; index < std::min(total, (task + 1) * per_task); ++index)
      body(rows[static_cast<std::size_t>(index / blocks)], index % blocks);
  });
}

/// Calls body(row, first, channels) for blocks of neighboring channels of each row, in parallel; a block's work grows
/// with the row's tokens times `floats_per_channel`. Blocks are as wide as `most` and the number of threads let them
/// be: tokens lie far apart, and memory is read at its rate only in long runs.
template <class Body>
void for_each_channel_block(worker_pool& workers, std::span<const token_rows> rows, std::int64_t channels,
                            std::int64_t most, std::int64_t floats_per_channel, Body body) {
  constexpr std::int64_t blocks_per_thread = 4;
  const std::int64_t by_threads = blocks_of(channels) / (blocks_per_thread * workers.threads());
  const std::int64_t width = std::clamp<std::int64_t>(by_threads * state_block, state_block, most);
  for_each_block(workers, rows, (channels + width - 1) / width, width * floats_per_channel,
                 [&](const token_rows& row, std::int64_t block) {
                   const std::int64_t first = block * width;
                   body(row, first, std::min(width, channels - first));
                 });
}

}  // namespace cogen::kernels
