#pragma once

#include <cogen/detail/slot_footprint.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::scheduler {

using token = std::int32_t;  ///< that of cogen

/// A point in time, counted from the start of the caller's clock.
using time = std::chrono::nanoseconds;

/// Tokens that an encoder reads for a sequence, immutable. Null: none.
using encoder_tokens = std::shared_ptr<const std::vector<token>>;

/// Names a sequence. Ids are never reused.
enum class sequence_id : std::uint64_t {};

/// Names a swap entry: what was swapped out of one slot. Never reused.
enum class swap_id : std::uint64_t {};

/// A copy of what one slot held, and how much of it belongs to a sequence.
struct snapshot {
  int length = 0;           ///< tokens that the slot held
  int cached = 0;           ///< how many of the first of those belong to the sequence
  int high_water_mark = 0;  ///< the most tokens that the slot, or the slot it was filled from, had held
  bool exact = true;        ///< restoring it reproduces the slot bit for bit
};

/// A snapshot that is stored, or will be.
struct kept_snapshot {
  swap_id name;
  scheduler::snapshot snapshot;
};

/// How a run of a sequence ends, or why a sequence does.
enum class finish : std::uint8_t {
  end_token,  ///< one of its end tokens was sampled
  length,     ///< its max_new_tokens were sampled, or it holds as many tokens as it may
  failed,     ///< its row failed in the step (bad logits, a throwing callback); other sequences are not affected
};

/// What a sequence waits for.
enum class phase : std::uint8_t {
  idle,        ///< a run
  waiting,     ///< a slot, or memory for one
  prefilling,  ///< steps: it has a slot and more than one token to feed
  decoding,    ///< the next step: it has a slot and one token to feed
  paused,      ///< credits, or the end of rows in flight or of a transfer
};

/// What the last rows of a run must produce.
enum class output : std::uint8_t {
  nothing,      ///< only feed the tokens: a prefill chunk that is not the last. No run may want it
  last_logits,  ///< the logits after the row's last token
  all_logits,   ///< the logits after each of the row's tokens
  sample,       ///< a token sampled from the logits after the row's last token
};

/// The limits within which the scheduler decides.
struct limits {
  /// Sequences that can hold cache at the same time.
  int slots = 16;

  /// Further slots, for what is kept of sequences that ended or moved. With as many as `slots`, no sequence ever waits
  /// for a slot because of what is kept. All slots are numbered from 0.
  int spare_slots = 0;

  /// Keeps what a slot holds when its sequence ends, until others need the room; the least recently used is dropped
  /// first. A new sequence starts with what another slot holds of its first tokens, if those are at least
  /// min_shared_prefix().
  bool prefix_caching = false;

  /// Tokens one sequence may hold, sampled ones included.
  int max_sequence_length = 2048;

  /// Tokens of one step. Sequences that feed one token come first, in turn; then prefill chunks, in order. At least an
  /// eighth of the tokens is kept for prefill while any waits: at least one token, and in steps of a single token every
  /// other step. An encoder input is read whole in the step of its sequence's first row. If it is longer than the rest
  /// of the step, it takes all of that, and no later row finds room.
  int max_batched_tokens = 512;

  /// Tokens of a step that has only prefill chunks, so that no sequence feeding one token waits for it. Used if larger
  /// than max_batched_tokens.
  int prefill_tokens = 0;

  /// Target duration of a step that has both prefill chunks and rows of sequences that feed one token. Chunks get as
  /// many tokens as fit by the times that absorb() was given for earlier steps, but at least a sixteenth of
  /// max_batched_tokens.
  std::chrono::nanoseconds target_step_latency = std::chrono::nanoseconds::max();

  /// Draft tokens that the rows of one step may have together; they count as tokens of the step. 0: none are used.
  int max_draft_tokens = 0;

  /// Tokens that the rows of one step for output::all_logits may have together. A longer run is divided over steps, in
  /// which other sequences go on. Of these, too, at least an eighth is kept for prefill while any waits.
  int max_all_logits_tokens = std::numeric_limits<int>::max();

  /// The memory budget, in the bytes of `usage`.
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();

  /// Bytes of one slot by its length.
  slot_footprint usage;

  /// How far a slot can be cut back, counted from the most tokens that it, or the slot it was copied or restored from,
  /// has held. A sequence that goes back further, and not to its start, is recomputed from its tokens.
  int max_rollback_tokens = std::numeric_limits<int>::max();

  /// Draft tokens of a row that its slot can drop until its next row, although max_rollback_tokens may be less. No row
  /// has more than the larger of the two.
  int max_dropped_drafts = 0;

  /// Bytes that checkpoints within prompts may take, each measured by `checkpoint_usage`: what slots need to go back to
  /// lengths that max_rollback_tokens does not reach. Where they take too much, those of the LRU slot go
  /// first, and of these the one whose loss costs least. 0: none.
  std::int64_t checkpoint_bytes = 0;

  /// Tokens between two checkpoints. Later ones are further apart: by that times a power of two, up to a twentieth of
  /// their length. So a prefix of a prompt is found but for a twentieth, or for less than this.
  int checkpoint_interval = 128;

  /// Bytes of a checkpoint by its length, beside what the slot itself takes.
  slot_footprint checkpoint_usage = {};

  /// How long an idle sequence, or one out of credits, may hold its slot while another one waits. After that it is
  /// preempted: its cache is swapped out and its slot freed.
  std::chrono::nanoseconds idle_timeout = std::chrono::nanoseconds::max();

  /// Bytes that swapped-out sequences may take, each measured by `swap_usage`. A sequence that does not fit is not
  /// swapped out, but recomputed from its tokens when it goes on.
  std::int64_t swap_bytes = 0;

  /// Bytes that a swap entry takes, by the tokens that the slot held. Empty: as `usage`.
  std::optional<slot_footprint> swap_usage;

  /// Whether swapping in restores a slot bit for bit. If not, a sequence that was swapped in is no longer exact(), and
  /// no other sequence shares what it computes from then on.
  bool exact_swaps = true;

  /// How many steps may be in flight. 1: absorb each step before calling next(). 2: one step may be unabsorbed
  /// meanwhile.
  int depth = 1;

  /// Whether a row may be planned before the token that it runs is sampled, with a depth of 2. If not, a sequence waits
  /// for each of its tokens, and two steps in flight share the sequences that decode: each has half of them at most.
  bool run_ahead = true;

  /// Tokens that are worth waiting for, or a slot of their own: a block, or less where blocks are large.
  int prefix_block() const { return std::min(usage.block, 64); }

  /// `slots` and `spare_slots` together.
  int all_slots() const { return slots + spare_slots; }

  /// The most draft tokens of a row.
  int max_row_drafts() const { return std::min(max_draft_tokens, std::max(max_rollback_tokens, max_dropped_drafts)); }

  /// Tokens of the shortest prefix that is shared; fewer are run again.
  int min_shared_prefix() const { return std::min(usage.block, 16); }

  /// Bytes of `swap_bytes` that swapping out a slot of `length` tokens takes.
  std::int64_t swapped_out(std::int64_t length) const { return (swap_usage ? *swap_usage : usage)(length); }
};

}  // namespace cogen::scheduler
