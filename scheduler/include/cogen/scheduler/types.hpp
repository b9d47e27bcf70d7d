#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::scheduler {

using token = std::int32_t;

/// A point in time, counted from wherever the caller's clock begins.
using time = std::chrono::nanoseconds;

/// What an encoder reads beside a sequence; null where there is nothing to read. Never changed.
using encoder_tokens = std::shared_ptr<const std::vector<token>>;

/// Names one sequence for ever: ids are never used again.
enum class sequence_id : std::uint64_t {};

/// Names for ever what was swapped out from one slot.
enum class swap_id : std::uint64_t {};

/// A copy of what one slot held, and what of it a sequence has cached.
struct snapshot {
  int length = 0;     ///< tokens that the slot held
  int cached = 0;     ///< how many of the first of those are the sequence's
  int reach = 0;      ///< the most tokens that the slot, or what it was filled from, had held
  bool exact = true;  ///< a slot that is filled from it holds bit by bit what that one held
};

/// A snapshot that is kept, or will be.
struct kept_snapshot {
  swap_id name;
  scheduler::snapshot snapshot;
};

/// How a run of a sequence ends, or why a sequence does.
enum class finish : std::uint8_t {
  end_token,  ///< one of its end tokens was sampled
  length,     ///< its max_new_tokens were sampled, or it holds as many tokens as it may
  failed,     ///< its row failed in the step (bad logits, a throwing callback); nobody else's did
};

/// What a sequence waits for.
enum class phase : std::uint8_t {
  idle,        ///< a run: it has none
  waiting,     ///< a slot, or memory for one
  prefilling,  ///< steps: it has a slot and more than one token to feed
  decoding,    ///< the next step: it has a slot and one token to feed
  paused,      ///< credits, or the end of rows in flight or of a transfer
};

/// What the last rows of a run must bring.
enum class output : std::uint8_t {
  nothing,      ///< only that the tokens are fed: a prefill chunk that is not the last one. No run may want it
  last_logits,  ///< the logits after the row's last token
  all_logits,   ///< the logits after each of the row's tokens
  sample,       ///< a token sampled from the logits after the row's last token
};

/// Bytes of each of the first `blocks` blocks, which no other slot ever shares: what a ring takes.
struct capped_term {
  std::int64_t per_block = 0;
  std::int64_t blocks = 0;
};

/// Bytes that a slot holding `length` tokens takes: with b = ceil(length / block), `fixed + per_block * b` and the sum
/// of capped.per_block * min(b, capped.blocks). A plain value that the cache's owner fills in.
struct footprint {
  std::int64_t fixed = 0;
  std::int64_t per_block = 0;
  int block = 64;
  std::vector<capped_term> capped = {};

  std::int64_t operator()(std::int64_t length) const {
    const std::int64_t blocks = (length + block - 1) / block;
    std::int64_t bytes = fixed + per_block * blocks;
    for (const capped_term& term : capped) bytes += term.per_block * std::min(blocks, term.blocks);
    return bytes;
  }
};

/// What the machine decides within.
struct limits {
  /// Sequences that hold cache at the same time.
  int slots = 16;

  /// Further slots, for what is kept of sequences that have gone or moved. With as many as `slots`, no sequence ever
  /// waits for a slot because of that. All slots are numbered from 0.
  int spare_slots = 0;

  /// What a slot holds is kept when its sequence goes, until others need the room: those used longest ago go first. And
  /// a sequence begins with what another slot holds of its first tokens, if that is a block or more.
  bool prefix_caching = false;

  /// Tokens one sequence may hold, sampled ones included.
  int max_sequence_length = 2048;

  /// Tokens of one plan. Sequences that feed one token come first, in turn; then prefill chunks, in order. At least an
  /// eighth of the tokens (one at the least; of plans of a single token every other one) is kept for prefill while any
  /// waits. An encoder input is read whole in the step of its sequence's first row; where it is longer than what is
  /// left of the step, it takes all of that, and no later row finds room.
  int max_batched_tokens = 512;

  /// Tokens of a plan that no sequence which feeds one token waits for: of chunks alone. Counts where it is more than
  /// max_batched_tokens.
  int prefill_tokens = 0;

  /// How long a plan should take that has both rows of sequences that feed one token, and chunks: the chunks get as
  /// many tokens as fit in by what absorb() was told of former plans, but never fewer than a sixteenth of
  /// max_batched_tokens.
  std::chrono::nanoseconds target_step_latency = std::chrono::nanoseconds::max();

  /// The budget that `usage` is held against.
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();

  /// Bytes of one slot by its length.
  footprint usage;

  /// How far a slot can be cut, counted from the most tokens that it has held, or that another one had which it was
  /// copied or restored from. A sequence that goes back further, and not to its start, is run again from its tokens.
  int max_rollback_tokens = std::numeric_limits<int>::max();

  /// How long a sequence that rests (it is idle, or waits for credits) keeps its slot while another one waits for it.
  /// After that it is preempted: what it has cached is swapped out, and it gives the slot up.
  std::chrono::nanoseconds idle_timeout = std::chrono::nanoseconds::max();

  /// Bytes that swapped out sequences may take, each as `swap_usage` says. One that does not fit is not swapped out,
  /// but run again from its tokens when it goes on.
  std::int64_t swap_bytes = 0;

  /// Bytes that what is swapped out of a slot takes, by the tokens that the slot held. Empty: as `usage` says.
  std::optional<footprint> swap_usage;

  /// Whether a slot that is restored holds bit by bit what was swapped out. Where it does not, a sequence that was
  /// restored is exact() no more, and nobody else begins with what it has run since.
  bool exact_swaps = true;

  /// 1: a plan is absorbed before the next one is asked for. 2: one may be unabsorbed meanwhile.
  int depth = 1;

  /// Those of `slots` and the spare ones together.
  int all_slots() const { return slots + spare_slots; }

  /// Bytes of `swap_bytes` that what is swapped out of a slot of so many tokens takes.
  std::int64_t swapped_out(std::int64_t length) const { return (swap_usage ? *swap_usage : usage)(length); }
};

}  // namespace cogen::scheduler
