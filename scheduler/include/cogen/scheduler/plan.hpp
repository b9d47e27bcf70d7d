#pragma once

#include <cogen/scheduler/types.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// Slot `slot` forgets everything from `length` on. Where that lies within the tokens that it reads in another slot, it
/// reads whole blocks of them from now on, and takes a copy of the rest. What others read of the slot is never
/// forgotten. At length 0 it forgets its encoder input, too.
struct truncation {
  int slot;
  int length;
};

/// Nobody owns slot `slot` any more. Of its first `length` tokens stays what other slots read, and its encoder input;
/// it is run no further.
struct release {
  int slot;
  int length;
};

/// Slot `slot`, which is empty, reads its first `length` tokens in slot `of` from now on, and has the same encoder
/// input. `length` is a multiple of the footprint's block; `of` holds at least that many, and reads none of them
/// elsewhere.
struct prefix_share {
  int slot;
  int of;
  int length;
};

/// Tokens [begin, end) of slot `from` are copied to the same positions of slot `to`, which holds `begin` tokens; where
/// that is none, the encoder input too.
struct copy {
  int from;
  int to;
  int begin;
  int end;
};

/// All that slot `slot` holds, what it reads in its base and its encoder input included, is copied away under `name`.
/// No plan changes the slot before the end of that was told.
struct swapping_out {
  sequence_id sequence;
  int slot;
  swap_id name;
  int length;           ///< tokens
  bool beside = false;  ///< for copy_out(): it counts in no budget
};

/// Slot `slot`, which is empty, is filled with the `length` tokens that were swapped out under `name`, and with their
/// encoder input; they are forgotten there. No row names the slot before the end of that was told. Where it fails, the
/// slot is empty.
struct swapping_in {
  sequence_id sequence;
  int slot;
  swap_id name;
  int length;
};

/// `count` tokens of one sequence run in this step. Where they stand follows from the slot's length: no row names a
/// position. A sequence has at most one row in a plan, and a slot too.
struct row {
  sequence_id sequence;
  int slot;
  int count;
  output wanted;
  bool chained;  ///< the token to run is the one that this sequence's row in the unabsorbed plan samples
  int first;     ///< where plan::tokens has the tokens to run, unless chained: see plan::tokens_of()
  encoder_tokens encoder_input =
      {};  ///< to be read into the slot before its first token; null where there is none, or later
};

/// One step, decided. Applied in this order: drops, clears, truncations, releases, shared prefixes, copies, each list
/// from its front; then swap-outs and swap-ins are begun, and all rows run in one forward. Plans are applied in the
/// order of their numbers, and each one whole; but transfers go on by themselves, and how each one ended is told by
/// scheduler::transferred(). A plan may have no rows.
struct plan {
  std::uint64_t number = 0;    ///< from 1; 0 for the empty plan
  std::vector<swap_id> drops;  ///< what was swapped out under them is forgotten
  std::vector<int> clears;     ///< slots that forget everything
  std::vector<truncation> truncations;
  std::vector<release> releases;
  std::vector<prefix_share> prefix_shares;
  std::vector<copy> copies;
  std::vector<swapping_out> swap_outs;
  std::vector<swapping_in> swap_ins;
  std::vector<row> rows;
  std::vector<token> tokens;  ///< of all rows that are not chained, one after another

  bool empty() const {
    return drops.empty() && clears.empty() && truncations.empty() && releases.empty() && prefix_shares.empty() &&
           copies.empty() && swap_outs.empty() && swap_ins.empty() && rows.empty();
  }

  /// The tokens of one of `rows`: [count], none where it is chained. Valid as long as `tokens`.
  std::span<const token> tokens_of(const row& one) const {
    if (one.chained) return {};
    return std::span(tokens).subspan(static_cast<std::size_t>(one.first), static_cast<std::size_t>(one.count));
  }

  /// Is empty again, and keeps its memory.
  void clear() {
    number = 0;
    drops.clear(), clears.clear(), truncations.clear(), releases.clear(), prefix_shares.clear(), copies.clear();
    swap_outs.clear(), swap_ins.clear(), rows.clear(), tokens.clear();
  }
};

/// A sequence has another slot than before, or none.
struct slot_change {
  sequence_id sequence;
  int slot = -1;           ///< the one it has now; -1: none
  bool preempted = false;  ///< it was preempted since its last change; it may have a slot again
};

/// What one row of a plan came to.
struct row_result {
  bool failed = false;  ///< what it wanted could not be had. The slot has taken its tokens all the same
  token sampled = -1;   ///< for output::sample
};

/// Something the owner of a sequence is told. `row` is the index in the absorbed plan's rows.
struct event {
  enum class kind : std::uint8_t {
    token,     ///< a token was sampled; it belongs to the sequence now, unless it is an end token
    logits,    ///< a row with last_logits or all_logits is done; the last such event of a run has `last` and ends it
    finished,  ///< the run ended for `reason`
  };
  kind what;
  sequence_id sequence;
  int row = -1;
  scheduler::token sampled = -1;
  bool last = false;
  finish reason = finish::length;
};

}  // namespace cogen::scheduler
