#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace cogen::scheduler {

using token = std::int32_t;

/// Names one sequence for ever: ids are never used again.
enum class sequence_id : std::uint64_t {};

/// How a run of a sequence ends, or why a sequence does.
enum class finish : std::uint8_t {
  end_token,  ///< one of its end tokens was sampled
  length,     ///< its max_new_tokens were sampled, or it holds as many tokens as it may
  failed,     ///< its row failed in the step (bad logits, a throwing callback); nobody else's did
};

/// What the last rows of a run must bring.
enum class output : std::uint8_t {
  nothing,      ///< a prefill chunk that is not the last one
  last_logits,  ///< the logits after the row's last token
  all_logits,   ///< the logits after each of the row's tokens
  sample,       ///< a token sampled from the logits after the row's last token
};

/// Bytes that a slot holding `length` tokens takes: `fixed + per_block * ceil(length / block)`, a plain value that the
/// cache's owner fills in.
struct footprint {
  std::int64_t fixed = 0;
  std::int64_t per_block = 0;
  int block = 64;

  std::int64_t operator()(std::int64_t length) const { return fixed + per_block * ((length + block - 1) / block); }
};

/// What the machine decides within.
struct limits {
  int slots = 16;                ///< sequences that hold cache at the same time
  int max_length = 2048;         ///< tokens one sequence may hold, sampled ones included
  int step_tokens = 512;         ///< tokens of one plan: every decode row, then prefill up to this many in all
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();  ///< the budget that `usage` is held against
  footprint usage;               ///< bytes of one slot by its length
  int depth = 1;                 ///< plans that may be unabsorbed when `next()` is called, plus one: 1 or 2
};

}  // namespace cogen::scheduler
