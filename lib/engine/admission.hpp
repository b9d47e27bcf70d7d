#pragma once

#include "engine/async/forkable_mutex.hpp"

#include <cogen/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace cogen::detail {

/// How a request or sequence counts toward the engine's limits.
enum class admission_stage : std::uint8_t {
  outside,  ///< not at all
  opened,   ///< toward max_sequences; it has had no slot, and has nothing to do
  queued,   ///< toward max_sequences, and toward max_waiting beyond the free slots: it waits for its first slot
  idle,     ///< toward max_sequences; it has had a slot, and has nothing to do
  working,  ///< toward max_sequences; it has had a slot, and a generation or an operation is under way
};

/// A request or sequence for admission control, which alone reads and changes the stage.
struct admission_state {
  admission_stage stage = admission_stage::outside;
  std::uint64_t tenant = 0;  ///< set before it is first used
};

/// Admission control. It counts on the caller's thread, so that a request is accepted or refused immediately and not in
/// the engine's next round. Any thread.
class admission {
 public:
  /// `slots`: of the engine. A tenant that has fewer waiting than an equal share of `max_waiting`, among the tenants
  /// that wait, is not refused for others that fill the queue. Calls `idle` when the last work under way ends after
  /// drain(), on the thread that ends it.
  admission(int slots, int max_sequences, int max_waiting, std::function<void()> idle);

  /// Begins work, also that of `peers`, which count alike. If the engine is draining or full, returns the reason and
  /// changes nothing. One that has had a slot is refused only while the engine drains. Work that is `accepted`, a part
  /// of a generation that has begun, begins while the engine drains.
  std::optional<diagnostics> begin(admission_state& state, std::span<admission_state* const> peers = {},
                                   bool accepted = false) noexcept;

  /// Records that it has a slot: it no longer counts as waiting.
  void schedule(admission_state& state) noexcept;

  /// Ends its work. It still counts toward max_sequences.
  void end_work(admission_state& state) noexcept;

  /// Ends its work, and counts it no more. May be called more than once.
  void leave(admission_state& state) noexcept;

  /// The child counts as the parent does, without its work, and is never refused.
  void fork(const admission_state& parent, admission_state& child) noexcept;

  /// Refuses new work from now on.
  void drain() noexcept;

  struct counts {
    int sequences = 0;
    int waiting = 0;
    int at_work = 0;
    bool draining = false;
  };
  counts now() const noexcept;

 private:
  std::optional<diagnostics> refusal(const admission_state& state, int count, bool accepted) const;
  bool has_share(std::uint64_t tenant, int count) const;
  int slots_taken() const;
  void enter(admission_state& state, admission_stage next) noexcept;
  template <class Next>
  void end(admission_state& state, Next next) noexcept;

  const int slots_;
  const int max_sequences_;
  const int max_waiting_;
  const std::function<void()> idle_;
  mutable forkable_mutex mutex_;  // guards the counts and every admission_state
  counts counts_;
  std::map<std::uint64_t, int> waiting_;  // of each tenant that waits
};

}  // namespace cogen::detail
