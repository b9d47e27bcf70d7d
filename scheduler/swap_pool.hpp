#pragma once

#include "memory_account.hpp"

#include <cogen/detail/scheduler/step.hpp>

#include <vector>

namespace cogen::scheduler {

/// A swap-out or swap-in in progress.
struct transfer {
  swap_id name;
  sequence_id sequence;  ///< its sequence, which may be gone
  int slot;
  int length;  ///< tokens
  bool is_in;
  bool is_copy = false;
};

/// Swap entries within a budget of bytes, and the transfers to and from them. An entry that is not needed any more is
/// dropped as soon as no transfer uses it. Only creating one allocates.
class swap_pool {
 public:
  explicit swap_pool(const limits& within);

  /// Whether a swap-out of so many bytes has room.
  bool fits(std::int64_t bytes) const { return memory_.fits(bytes); }

  /// Begins to swap the slot out with the next step. Throws std::bad_alloc; then nothing has changed.
  swap_id take_out(sequence_id seq, int slot, int length, std::int64_t bytes);

  /// The same for copy_out(): outside the budget, and dropped when the transfer has ended.
  swap_id copy_out(sequence_id seq, int slot, int length);

  /// Adds an entry whose bytes come from the caller. Throws std::bad_alloc; then nothing has changed.
  swap_id add(std::int64_t bytes);

  /// Begins to swap the entry into the slot.
  void bring_back(swap_id name, sequence_id seq, int slot, int length);

  /// The entry is not needed any more.
  void drop(swap_id name);

  /// The transfer of this entry has ended. Throws std::out_of_range if there is none.
  transfer end(swap_id name, bool ok);

  /// Moves what begins into the step.
  void settle(step& plan);

  std::uint64_t swapped_out() const { return swapped_; }
  std::int64_t in_use() const { return memory_.used(); }
  const std::vector<transfer>& on_their_way() const { return moving_; }

  /// Throws std::logic_error if the account differs from what is kept.
  void verify() const;

 private:
  struct kept {
    swap_id name;
    std::int64_t bytes;
    bool wanted;
  };

  std::vector<kept>::iterator find(swap_id name);
  void forget(swap_id name);
  swap_id keep(std::int64_t bytes, bool wanted);

  memory_account memory_;
  std::uint64_t names_ = 0;
  std::uint64_t swapped_ = 0;
  std::vector<kept> kept_;  // by name
  std::vector<transfer> moving_;
  std::vector<swapping_out> swap_outs_;  // the three lists are for the next step
  std::vector<swapping_in> swap_ins_;
  std::vector<swap_id> drops_;
};

}  // namespace cogen::scheduler
