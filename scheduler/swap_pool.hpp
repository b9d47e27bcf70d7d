#pragma once

#include "memory_account.hpp"

#include <cogen/scheduler/plan.hpp>

#include <vector>

namespace cogen::scheduler {

/// A swap-out or restore on its way.
struct transfer {
  swap_id name;
  sequence_id sequence;  ///< whose it is, or was
  int slot;
  bool swap_ins;
};

/// What is kept outside of the slots, under swap ids, within a budget of bytes; and the transfers there and back. A
/// swap id that nobody wants any more is dropped as soon as nothing is on its way under it. Only what makes a new one
/// needs memory.
class swap_pool {
 public:
  explicit swap_pool(const limits& within);

  /// Whether a swap-out of so many bytes has room.
  bool fits(std::int64_t bytes) const { return memory_.fits(bytes); }

  /// What the slot holds is on its way from the next plan on. Throws std::bad_alloc; then nothing has changed.
  swap_id take_out(sequence_id seq, int slot, int length, std::int64_t bytes);

  /// The same beside the budget, for somebody else: it is dropped when that has ended.
  swap_id copy_out(sequence_id seq, int slot, int length);

  /// So many bytes come from elsewhere. Throws std::bad_alloc; then nothing has changed.
  swap_id take_in(std::int64_t bytes);

  /// What was swapped out is on its way back into the slot.
  void bring_back(swap_id name, sequence_id seq, int slot, int length);

  /// Nobody wants it any more.
  void drop(swap_id name);

  /// The transfer under this name has ended. Throws std::out_of_range where there is none.
  transfer end(swap_id name, bool ok);

  /// Moves what is to begin into the plan.
  void settle(plan& into);

  std::uint64_t swapped_out() const { return swapped_; }
  std::int64_t in_use() const { return memory_.used(); }
  const std::vector<transfer>& on_their_way() const { return moving_; }

  /// Throws std::logic_error where the account differs from what is kept.
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
  std::vector<swapping_out> swap_outs_;  // the three lists are for the next plan
  std::vector<swapping_in> swap_ins_;
  std::vector<swap_id> drops_;
};

}  // namespace cogen::scheduler
