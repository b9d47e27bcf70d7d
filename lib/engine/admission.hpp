#pragma once

#include <cogen/error.hpp>

#include <functional>
#include <mutex>
#include <optional>

namespace cogen::detail {

/// The admission state of one request or sequence. Only `admission` reads and changes it.
struct place {
  bool taken = false;      ///< counts toward max_sequences
  bool waiting = false;    ///< counts toward max_waiting: it has work to do, and has had no slot yet
  bool scheduled = false;  ///< has had a slot
  bool at_work = false;    ///< a generation, or an operation of a sequence, is under way
};

/// Admission control. It counts on the caller's thread, so that a request is accepted or refused immediately and not in
/// the engine's next round. Any thread.
class admission {
 public:
  /// Calls `idle` when the last work under way ends after drain(), on the thread that ends it.
  admission(int max_sequences, int max_waiting, std::function<void()> idle);

  /// Begins work. If the engine is draining or full, returns the reason and changes nothing. A place that is taken and
  /// has had a slot is refused only while the engine drains.
  std::optional<diagnostics> begin(place& seq) noexcept;

  /// Records that it has had a slot: it no longer counts as waiting.
  void admission_result(place& seq) noexcept;

  /// Ends its work. The place stays taken.
  void rest(place& seq) noexcept;

  /// Ends its work and gives the place back. May be called more than once.
  void leave(place& seq) noexcept;

  /// The child is taken and scheduled if the parent is. It counts, but is never refused.
  void fork(const place& parent, place& child) noexcept;

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
  std::optional<diagnostics> refusal(const place& seq) const;
  void stop_waiting(place& seq) noexcept;
  bool end_work(place& seq) noexcept;  // true: this was the last work under way, and the engine is draining

  const int max_sequences_;
  const int max_waiting_;
  const std::function<void()> idle_;
  mutable std::mutex mutex_;  // guards the counts and every place
  counts counts_;
};

}  // namespace cogen::detail
