#pragma once

#include <cogen/detail/scheduler/step.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace cogen::scheduler::toy {

/// What the layers with a window keep of each slot: its newest tokens, as many as a step and a cut need beside the
/// window.
struct ring {
  int window = 0;  ///< 0: there are none
  int max_step_tokens = 0;
  int max_rollback_tokens = 0;

  int tokens() const { return window - 1 + max_step_tokens + max_rollback_tokens; }

  /// The first position that a slot of `length` tokens needs to go on.
  int first_needed(int length) const { return window == 0 ? 0 : std::max(0, length - window + 1); }
};

/// A cache that remembers tokens instead of keys and values, and takes every plan literally: a slot reads what it
/// shares in the other slot at the moment it is asked. Throws std::logic_error at whatever a real cache could not do.
class cache {
 public:
  /// What a slot held when it was copied away.
  struct snapshot {
    std::vector<token> tokens;
    std::vector<token> encoder_input;
    int high_water_mark = 0;
    int oldest = 0;          ///< the first position that the rings hold
    bool altered = false;    ///< it is not bit by bit what a slot held that nothing was restored into
    std::int64_t bytes = 0;  ///< it counts
  };

  explicit cache(const limits& within, const ring& rings = {});

  /// All of a plan but its rows. Its transfers have begun then.
  void apply(const step& step);

  /// The names of the transfers that have begun and not ended, oldest first.
  std::vector<swap_id> on_their_way() const;

  /// One of them ends. A slot that it was to fill is empty where it fails, and nothing is kept under its name.
  void end(swap_id name, bool ok);

  /// What is kept outside of the slots, the ends of transfers included, as the limits count it.
  std::int64_t swapped_bytes() const;

  bool keeps(swap_id name) const { return kept_.contains(name); }
  const snapshot& kept(swap_id name) const { return kept_.at(name); }

  /// What was kept elsewhere is kept here from now on. A prefix counts against no budget.
  void keep(swap_id name, snapshot content, bool is_prefix = false);

  /// The slot, which is empty, gets its encoder input.
  void read(int slot, const std::vector<token>& encoder_input);

  /// The last `drafts` of the tokens can be dropped until the slot's next ones.
  void append(int slot, std::span<const token> tokens, int drafts = 0);

  int length(int slot) const;
  int shared(int slot) const { return slot_at(slot).shared; }
  std::vector<token> content(int slot) const;
  const std::vector<token>& encoder_input(int slot) const { return slot_at(slot).encoder_input; }

  /// A transfer on its way fills it.
  bool filling(int slot) const { return slot_at(slot).filling; }

  /// Something of what it holds comes from a snapshot that was not exact.
  bool altered(int slot) const { return slot_at(slot).altered; }

  /// Bytes that all slots take, shared blocks once.
  std::int64_t bytes() const;

  /// Bytes that all checkpoints take.
  std::int64_t checkpoint_bytes() const;

  /// Whether the slot can be cut to that length only because a checkpoint was taken there.
  bool needs_checkpoint(int slot, int length) const;

 private:
  struct storage {
    int parent = -1;
    int shared = 0;
    std::vector<token> own;            ///< after the shared ones
    std::vector<token> encoder_input;  ///< what an encoder has read
    int high_water_mark = 0;         ///< the most tokens it, or what it was filled from, has held since that was filled
    int oldest = 0;                  ///< the first position that its rings hold
    int drafts = 0;                  ///< its last tokens that can be dropped
    std::map<int, int> checkpoints;  ///< by length, the first position that the rings held then
    bool released = false;           ///< it can no longer go on, nor a fork from its end
    bool moving = false;             ///< a transfer reads or fills it
    bool filling = false;            ///< a transfer fills it
    bool altered = false;
  };
  struct transfer {
    int slot;
    bool swap_ins;
    snapshot entry;
  };

  storage& slot_at(int slot);
  const storage& slot_at(int slot) const;
  int longest_reader(int slot) const;
  void clear(int slot);
  bool ever_full() const { return rings_.window > 0 && rings_.tokens() < within_.max_sequence_length; }
  bool holds(int slot, int length) const;
  bool is_near(const storage& seq, int length) const;
  bool drops_to(int slot, int length) const;
  int oldest_in_snapshot(int slot) const;
  void add(int slot, std::span<const token> tokens);
  void require_return(int slot, int length) const;
  void truncate(const truncation& cut);
  void release(const cogen::scheduler::release& rest);
  void take(const checkpoint& taken);
  void go_on_from(storage& seq, int slot, int length);
  void fork(const slot_fork& begun);
  void check_base(const slot_fork& begun) const;
  void require_still(int slot) const;
  void require_filled(int slot) const;
  void begin(const swapping_out& begun);
  void begin(const swapping_in& begun);

  limits within_;
  ring rings_;
  std::vector<storage> slots_;
  std::map<swap_id, snapshot> kept_;
  std::map<swap_id, transfer> transfers_;
};

}  // namespace cogen::scheduler::toy
