#pragma once

#include <cogen/detail/scheduler/types.hpp>
#include <cogen/detail/slot_fork.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cogen::scheduler {

/// Cuts slot `slot` to its first `length` tokens. If `length` lies within a prefix read in another slot, the slot keeps
/// the whole blocks of that prefix and copies the rest. Tokens that other slots read are never dropped. At length 0 the
/// encoder input is dropped, too.
struct truncation {
  int slot;
  int length;
};

/// Releases slot `slot`. Its first `length` tokens stay as far as other slots read them, and so does its encoder input.
/// No later row runs in it.
struct release {
  int slot;
  int length;
};

/// Slot `slot` can go back to its first `length` tokens, however many it has held since, until it is cut below that or
/// released.
struct checkpoint {
  int slot;
  int length;
  bool failed = false;  ///< set by the executor: it could not be taken, and the slot does not go back there

  bool operator==(const checkpoint&) const = default;
};

/// Copies everything that slot `slot` holds to the swap entry `name`, including its shared prefix and its encoder
/// input. No step changes the slot until on_swap_done() has reported the end.
struct swapping_out {
  sequence_id sequence;
  int slot;
  swap_id name;
  int length;            ///< tokens
  bool is_copy = false;  ///< for copy_out(): counts against no budget
};

/// Fills slot `slot`, which is empty, with the `length` tokens of swap entry `name` and their encoder input, and
/// removes the entry. No row names the slot until on_swap_done() has reported the end. If the transfer fails, the slot
/// is empty.
struct swapping_in {
  sequence_id sequence;
  int slot;
  swap_id name;
  int length;
};

/// `count` tokens of one sequence run in this step. Their positions follow from the slot's length. A step has at most
/// one row for each sequence and each slot.
///
/// The last `drafts` of the tokens are guesses at what the sequence samples here: a token is sampled after the one
/// before them and after each of them, as if those before it had been sampled. absorb() accepts those that were.
struct row {
  sequence_id sequence;
  int slot;
  int count;
  output wanted;
  bool chained;  ///< the token to run is the one that this sequence's row in the unabsorbed step samples
  int first;     ///< index in step::tokens of the first token to run, unless chained: see step::tokens_of()
  bool prefill;  ///< part of a prompt, of several tokens fed at once, or of tokens recomputed after preemption
  /// Whether the logits after each of its tokens are wanted, to score the next one, unless that is sampled.
  bool scored = false;
  int drafts = 0;        ///< only for output::sample, of rows that are not chained
  int first_sample = 0;  ///< for output::sample: index in step::sampled
  int position = 0;      ///< of its first token in the sequence: the length that its slot has then
  token next = -1;       ///< the token that follows its last one, where the sequence has it; -1: it is not known

  /// Read into the slot before its first token; null if there is none, or it comes later.
  encoder_tokens encoder_input = {};

  /// In the first row of a sequence: how many of its tokens were found in the prefix cache.
  std::optional<int> prefix_hit_tokens = {};

  // Set by the executor.
  bool failed = false;  ///< its output could not be produced; the slot has appended the row's tokens all the same
  /// For output::sample: what it samples is not known yet, but will be: see late_sample. No other row may be chained to
  /// it, and its drafts are dropped. absorb() clears it where the run has ended meanwhile.
  bool late = false;
  /// If it failed because memory for its tokens was refused: how many of the slot's first tokens are there. The others
  /// count in the slot's length until it is cut; nothing reads them.
  std::optional<int> held = {};

  /// After how many of its tokens, the last ones, logits are wanted.
  int outputs() const {
    if (scored || wanted == output::all_logits) return count;
    return wanted == output::nothing ? 0 : 1 + drafts;
  }

  /// How many of its tokens, the first ones, are followed by a token that is to be scored.
  int scores() const { return scored ? count - (wanted == output::nothing ? 0 : 1 + drafts) : 0; }
};

/// What a row brought to the owner of its sequence. `row` is an index into step::rows.
struct event {
  /// What happened.
  enum class kind : std::uint8_t {
    token,     ///< a token was sampled; it was appended to the sequence unless it is an end token
    logits,    ///< a row with last_logits or all_logits is done; the last such event of a run has `last` and ends it
    finished,  ///< the run ended for `reason`
  };
  kind type;
  sequence_id sequence;
  int row = -1;  ///< -1: a late one
  bool last = false;
  finish reason = finish::length;

  // Of a token.
  int after_drafts = 0;  ///< it was sampled after so many draft tokens, which were accepted
  int drafts = 0;        ///< that its row had run
  bool more = false;     ///< another token of the row comes
};

/// What a row with row::late sampled in the end.
struct late_sample {
  sequence_id sequence;
  std::uint64_t step;  ///< the number of the row's step
  token sampled = -1;
  bool failed = false;
};

/// One step: planned by scheduler::next(), executed, and absorbed by scheduler::absorb().
///
/// To execute it, apply the lists from front to back in this order: drops, clears, truncations, releases, forks,
/// dropped and new checkpoints. Then begin the swap-outs and swap-ins, run all rows in one forward, and
/// set what the rows sampled. Steps are executed whole, in the order of their numbers. Swaps run asynchronously; report
/// the end of each one to scheduler::on_swap_done(). A step may have no rows.
struct step {
  std::uint64_t number = 0;    ///< from 1; 0 for the empty step
  std::vector<swap_id> drops;  ///< swap entries to delete
  std::vector<int> clears;     ///< slots to empty
  std::vector<truncation> truncations;
  std::vector<release> releases;
  std::vector<slot_fork> forks;
  std::vector<checkpoint> dropped_checkpoints;
  std::vector<checkpoint> checkpoints;  ///< to take, at the present lengths of their slots
  std::vector<swapping_out> swap_outs;
  std::vector<swapping_in> swap_ins;
  std::vector<row> rows;
  std::vector<token> tokens;  ///< of all rows that are not chained, concatenated
  std::vector<event> events;  ///< set by absorb(), in the order of the rows

  /// What each row with output::sample sampled, after its own tokens and after each of its draft tokens, concatenated:
  /// set by the executor. -1, as it is at first: no token could be sampled there, or none had to be, since an earlier
  /// draft token was not sampled.
  std::vector<token> sampled;

  /// Whether there is nothing to do.
  bool empty() const {
    return drops.empty() && clears.empty() && truncations.empty() && releases.empty() && forks.empty() &&
           dropped_checkpoints.empty() && checkpoints.empty() && swap_outs.empty() && swap_ins.empty() && rows.empty();
  }

  /// The tokens of one of `rows`: [count], or none if it is chained. Valid as long as `tokens` is.
  std::span<const token> tokens_of(const row& entry) const {
    if (entry.chained) return {};
    return std::span(tokens).subspan(static_cast<std::size_t>(entry.first), static_cast<std::size_t>(entry.count));
  }

  /// The draft tokens of one of `rows`: the last ones of its tokens. Valid as long as `tokens` is.
  std::span<const token> drafts_of(const row& entry) const {
    return tokens_of(entry).last(static_cast<std::size_t>(entry.drafts));
  }

  /// What one of `rows` sampled after so many of its draft tokens.
  token& sampled_of(const row& entry, int drafts = 0) {
    return sampled[static_cast<std::size_t>(entry.first_sample + drafts)];
  }

  /// The same.
  token sampled_of(const row& entry, int drafts = 0) const {
    return sampled[static_cast<std::size_t>(entry.first_sample + drafts)];
  }

  /// Empties the step and keeps its memory.
  void clear() {
    number = 0;
    drops.clear(), clears.clear(), truncations.clear(), releases.clear(), forks.clear();
    dropped_checkpoints.clear(), checkpoints.clear();
    swap_outs.clear(), swap_ins.clear(), rows.clear(), tokens.clear(), events.clear(), sampled.clear();
  }
};

/// The state of a sequence between its submission and its end.
enum class status : std::uint8_t {
  waiting,    ///< it has had no slot yet
  running,    ///< it has a slot, or needs none
  preempted,  ///< its slot was taken for others, or by suspend()
};

/// A transition of a sequence. From running to running: it got another slot.
struct transition {
  sequence_id sequence;
  status previous;
  status current;
  int slot;  ///< that it got, or has given up
};

/// A swap-out or swap-in that has ended.
struct swap_end {
  sequence_id sequence;  ///< of which it was; it may be gone
  int length;            ///< tokens
  bool swap_in;
  bool is_copy;     ///< for copy_out()
  bool is_current;  ///< the sequence exists, and has not been computed again meanwhile
};

}  // namespace cogen::scheduler
