#pragma once

#include <cogen/scheduler/types.hpp>

#include <cstdint>
#include <vector>

namespace cogen::scheduler {

/// Slot `slot` forgets everything from `length` on.
struct truncation {
  int slot;
  int length;
};

/// Slot `slot`, which is empty, reads its first `length` tokens in slot `of` from now on. `length` is a multiple of the
/// footprint's block.
struct adoption {
  int slot;
  int of;
  int length;
};

/// Tokens [begin, end) of slot `from` are copied to the same positions of slot `to`.
struct copy {
  int from;
  int to;
  int begin;
  int end;
};

/// `count` tokens of one sequence run in this step. Where they stand follows from the slot's length: no row names a position.
struct row {
  sequence_id sequence;
  int slot;
  int count;
  output wanted;
  bool chained;               ///< the token to run is the one that this sequence's row in the unabsorbed plan samples
  std::vector<token> tokens;  ///< [count], empty when chained
};

/// One step, decided. Applied in this order: clears, truncations, adoptions, copies, then all rows in one forward.
struct plan {
  std::uint64_t number = 0;
  std::vector<int> clears;
  std::vector<truncation> truncations;
  std::vector<adoption> adoptions;
  std::vector<copy> copies;
  std::vector<row> rows;

  bool empty() const {
    return clears.empty() && truncations.empty() && adoptions.empty() && copies.empty() && rows.empty();
  }
};

/// What one row of a plan came to.
struct row_result {
  bool failed = false;
  token sampled = -1;  ///< for output::sample
};

/// Something the owner of a sequence is told. `row` is the index in the absorbed plan's rows.
struct event {
  enum class kind : std::uint8_t {
    token,     ///< a token was sampled; it belongs to the sequence now, unless it is an end token
    logits,    ///< a row with last_logits or all_logits is done; the last such event of a run has `last`
    finished,  ///< the run ended for `reason`; with `release_at_end` the sequence is gone
  };
  kind what;
  sequence_id sequence;
  int row = -1;
  scheduler::token sampled = -1;
  bool last = false;
  finish reason = finish::length;
};

}  // namespace cogen::scheduler
