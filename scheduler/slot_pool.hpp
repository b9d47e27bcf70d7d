#pragma once

#include "memory_account.hpp"

#include <cogen/detail/scheduler/step.hpp>
#include <cogen/detail/slot_fork.hpp>

#include <optional>
#include <span>
#include <vector>

namespace cogen::scheduler {

struct slot {
  int length = 0;           ///< tokens it holds once all steps so far, and what is pending, have run
  int high_water_mark = 0;  ///< the most that it, or what it was filled from, has held since it was filled
  int parent = -1;          ///< the slot in which its first `shared` tokens are read
  int shared = 0;
  std::optional<slot_fork> pending;  ///< it is filled by the next step
  std::vector<int> pins;             ///< how many of its first tokens are read by each slot that has it as its parent
  int users = 0;                     ///< its owner or keeper, its pins, pending copies out of it, and a transfer
  bool owned = false;                ///< by a sequence
  bool kept = false;                 ///< its sequence has ended, and what it holds is kept
  bool branch = false;               ///< it is kept at a checkpoint, or where several diverge
  bool shortened = false;            ///< to what others read of it: nothing can go on in it
  bool moving = false;               ///< a transfer reads or fills it: it is neither changed nor shared
  std::int64_t bytes = 0;            ///< reserved for it
  std::uint64_t touched = 0;         ///< number of the last step that names it
  std::vector<int> checkpoints;  ///< lengths, ascending, that it can go back to although max_rollback_tokens is less
  std::uint64_t checkpoint_use = 0;  ///< orders slots by when one of these was taken or used

  int pinned() const;  ///< tokens that must not change: the longest pin
};

/// The slots: their owners, what they share, and the memory reserved for them. It does not refer to sequences. Leaving
/// a slot allocates nothing; a member that throws std::bad_alloc outside a step has changed nothing.
///
/// A slot is free again when it has no user and every step that names it has been absorbed. A parent has no parent
/// itself.
class slot_pool {
 public:
  /// Slots are given, beside others, while no more than `high` bytes are reserved.
  slot_pool(const limits& within, std::int64_t high);

  const slot& operator[](int index) const { return slots_[static_cast<std::size_t>(index)]; }
  std::int64_t memory_in_use() const { return memory_.used(); }

  /// Slots that could be given to sequences now, including those to evict first.
  int free() const;

  /// Kept slots, least recently used first.
  std::span<const int> kept_slots() const { return kept_; }

  /// Kept slots; and the memory reserved for those that can be evicted now, with what only they read.
  int kept() const { return static_cast<int>(kept_.size()); }
  std::int64_t prefix_cached_bytes() const;

  /// Whether one more sequence may have a slot.
  bool has_free_slot() const { return owned_ < usable_slots_; }

  /// Whether there is a free slot, and memory for `capacity` tokens that begin with `first`.
  bool fits(int capacity, const slot_fork& first = {}) const;

  /// Whether one more sequence may have a slot, and fits once every step in flight is absorbed, all transfers out of
  /// slots have ended, and nothing is kept.
  bool will_fit(int capacity) const;

  /// Bytes reserved if memory for `tokens` tokens is reserved in the slot, once every step in flight is absorbed, all
  /// transfers out of slots have ended, and nothing is kept.
  std::int64_t bytes_with(int index, int tokens) const;

  /// Whether no other slot reads it, and no step in flight names it.
  bool is_settled(int index) const { return has_one_user(index) && is_absorbed(index); }

  /// Whether no step in flight names it.
  bool is_absorbed(int index) const { return (*this)[index].touched <= absorbed_; }

  /// Whether only kept slots need it once its owner or keeper leaves and the steps in flight are absorbed.
  bool only_its_owners(int index) const;

  /// How another slot gets the first `length` tokens of `index`, sharing whole blocks of at most `most` tokens.
  slot_fork plan_fork(int index, int length, int most) const;

  /// Takes a checkpoint at the slot's length in this step, and drops others if it would not fit. Does nothing where
  /// that does not suffice, or if the slot is filled by this step.
  void add_checkpoint(int index, step& plan);

  /// The checkpoint could not be taken.
  void forget_checkpoint(int index, int length) noexcept;

  /// Bytes that checkpoints take.
  std::int64_t checkpoint_bytes() const { return checkpoint_memory_.used(); }

  /// Whether the slot can be cut to `length` tokens, memory apart.
  bool goes_back(int index, int length) const;

  /// Whether the source of a slot's first tokens still has them.
  bool returns(const slot_fork& first) const;

  /// Whether a pending copy reads tokens of `index` from `length` on.
  bool read_beyond(int index, int length) const;

  /// How many of the slot's first `length` tokens another slot can share.
  int can_share(int index, int length) const;

  /// Takes a free slot; call only if it fits.
  int take(int capacity, const slot_fork& first = {});

  /// Reserves memory for `tokens` tokens in the slot, never less than before. False, with nothing changed, if there is
  /// not enough.
  bool grow(int index, int tokens);

  /// A transfer out of the slot begins with the next step. Its owner may leave.
  void begin_transfer(int index);

  /// A transfer that begins with the next step fills the slot, taken and empty, with `length` tokens, swapped out of a
  /// slot that had held `reach` tokens.
  void begin_transfer(int index, int length, int high_water_mark);

  /// The transfer has ended. If it was to fill the slot and failed, the slot is empty.
  void end_transfer(int index, bool left_empty);

  /// The owner leaves. What others read of the slot stays until they are gone.
  void leave(int index);

  /// The owner leaves, and the slot is kept as the most recently used one.
  void keep(int index, bool branch = false);

  /// Nothing is kept in the slot any more.
  void drop_kept(int index);

  /// Whether the kept slot can be reused in place: nothing reads it, it holds at most `capacity` tokens, memory for
  /// them fits, and it can be cut to `length` without more.
  bool can_take_over(int index, int capacity, int length) const;

  /// The kept slot gets an owner again. Requires can_take_over().
  void take_over(int index, int capacity);

  /// Marks the slot as used most recently.
  void used(int index);

  /// Evicts the least recently used of what is kept and in no step in flight: a slot, or, if others read its first
  /// tokens, the rest of them. Slot `but` and slots that read it stay. False if there is nothing to evict.
  bool evict(int but = -1);

  /// Cuts the slot, which can go back that far, to `length` tokens; nothing beyond may be pinned or about to be read.
  /// If that ends within its shared prefix, memory for the blocks that are no longer shared must fit: otherwise false,
  /// and nothing has changed.
  bool cut(int index, int length, step& plan);

  /// Cuts the slot, from the next step on, to a length within the drafts of its last row, if it cannot go back there
  /// later. Does nothing where others read what is beyond, or are about to.
  void drop_drafts(int index, int length);

  /// `count` tokens are appended by a row of the step.
  void append(int index, int count, const step& plan);

  /// Cuts slots without owner or keeper to what others read of them.
  void release_unread();

  /// Moves what is pending into the step, last of all before it is given out.
  void settle(step& plan);

  /// Every step up to this number has been absorbed.
  void absorbed(std::uint64_t number);

  /// Throws std::logic_error if counts, pins or the memory account contradict each other.
  void verify() const;

 private:
  slot& slot_at(int index) { return slots_[static_cast<std::size_t>(index)]; }
  std::int64_t bytes(int capacity, int shared) const;
  int whole_blocks(int length) const { return length / usage_.block * usage_.block; }
  std::int64_t more_for(int index, int tokens) const;
  std::int64_t headroom() const { return owned_ == 0 ? 0 : headroom_; }
  struct room {
    std::size_t slots;
    std::int64_t bytes;
  };
  room reclaimable() const;
  void set_aside(slot& seq, std::int64_t bytes);
  bool cut_pending(int index, int length);
  slot_fork shortened(const slot_fork& pending, int length) const;
  int reach_of(const slot_fork& first) const;
  bool begins_another(int index) const;
  bool has_one_user(int index) const { return (*this)[index].users == 1; }
  bool can_be_shortened(int index) const;
  bool can_be_evicted(int index) const;
  bool is_evictable(int index) const;
  int kept_readers(int index) const;
  bool shrink_base(int index, int shared, std::uint64_t step_number);
  void shorten(int index);
  void pin(int index, int parent, int shared);
  void unpin(int index);
  void drop_pending(int index);
  void drop_user(int index);
  void vacate(int index);
  void free_again(int index);
  int source_of(const slot& source, int index, int length) const;
  bool can_rewind(int index, int length) const;
  int reach_at_checkpoint(int length) const;
  bool begins_another_at(int index, int length) const;
  bool drop_a_checkpoint(step& plan);
  void drop_checkpoints(int index, int beyond) noexcept;

  slot_footprint usage_;
  int max_rollback_tokens_;
  int usable_slots_;
  std::int64_t headroom_;  // not reserved when slots are given, so that others can grow
  int owned_ = 0;
  memory_account memory_;
  slot_footprint checkpoint_usage_;
  memory_account checkpoint_memory_;
  std::uint64_t checkpoint_uses_ = 0;
  std::vector<slot> slots_;
  std::vector<int> free_;
  std::vector<int> draining_;  // without users, but named by a step in flight
  std::vector<int> orphans_;   // used, but neither owned nor kept
  std::vector<int> kept_;      // least recently used first
  std::vector<int> filling_;   // with something pending
  std::vector<int> moving_;    // whose transfer begins with the next step
  std::vector<int> clears_;    // for the next step, as the one below
  std::vector<release> releases_;
  std::vector<truncation> dropped_;  // drafts, likewise
  std::uint64_t absorbed_ = 0;
};

}  // namespace cogen::scheduler
