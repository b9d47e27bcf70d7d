#pragma once

#include "memory_account.hpp"

#include <cogen/scheduler/plan.hpp>

#include <vector>

namespace cogen::scheduler {

/// A spill or restore on its way.
struct transfer {
  ticket name;
  sequence_id sequence;  ///< whose it is, or was
  int slot;
  bool restores;
};

/// What is kept outside of the slots, under tickets, within a budget of bytes; and the transfers there and back. A
/// ticket that nobody wants any more is dropped as soon as nothing is on its way under it. Only what makes a new one
/// needs memory.
class spill_pool {
 public:
  explicit spill_pool(const limits& within);

  /// Whether a spill of so many bytes has room.
  bool fits(std::int64_t bytes) const { return memory_.fits(bytes); }

  /// What the slot holds is on its way from the next plan on. Throws std::bad_alloc; then nothing has changed.
  ticket take_out(sequence_id whose, int slot, int length, std::int64_t bytes);

  /// The same beside the budget, for somebody else: it is dropped when that has ended.
  ticket copy_out(sequence_id whose, int slot, int length);

  /// So many bytes come from elsewhere. Throws std::bad_alloc; then nothing has changed.
  ticket take_in(std::int64_t bytes);

  /// What was spilled is on its way back into the slot.
  void bring_back(ticket name, sequence_id whose, int slot, int length);

  /// Nobody wants it any more.
  void drop(ticket name);

  /// The transfer under this name has ended. Throws std::out_of_range where there is none.
  transfer end(ticket name, bool ok);

  /// Moves what is to begin into the plan.
  void settle(plan& into);

  std::uint64_t spilled() const { return spilled_; }
  std::int64_t in_use() const { return memory_.used(); }
  const std::vector<transfer>& on_their_way() const { return moving_; }

  /// Throws std::logic_error where the account differs from what is kept.
  void verify() const;

 private:
  struct kept {
    ticket name;
    std::int64_t bytes;
    bool wanted;
  };

  std::vector<kept>::iterator find(ticket name);
  void forget(ticket name);
  ticket keep(std::int64_t bytes, bool wanted);

  memory_account memory_;
  std::uint64_t names_ = 0;
  std::uint64_t spilled_ = 0;
  std::vector<kept> kept_;  // by name
  std::vector<transfer> moving_;
  std::vector<spilling> spills_;  // the three lists are for the next plan
  std::vector<restoring> restores_;
  std::vector<ticket> drops_;
};

}  // namespace cogen::scheduler
