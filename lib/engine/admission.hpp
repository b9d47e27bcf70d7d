#pragma once

#include <cogen/error.hpp>

#include <functional>
#include <mutex>
#include <optional>

namespace cogen::detail {

/// What somebody has of an engine's room. Read and changed by `admission` alone.
struct place {
  bool taken = false;      ///< counts among max_sequences
  bool waiting = false;    ///< counts among max_waiting: it has work to do, and has had no slot yet
  bool scheduled = false;  ///< has had a slot
  bool at_work = false;    ///< a generation, or an operation of a sequence, is under way
};

/// Who may come in. Counts places on the side of those who ask, so that they are answered at once and not in the
/// engine's next round. Any thread.
class admission {
 public:
  /// `idle` is called, by the thread whose work was the last, when nobody is at work and nobody can be any more.
  admission(int max_sequences, int max_waiting, std::function<void()> idle);

  /// Work begins. Where the engine is draining or full it says why not, and nothing has changed. A place that has had a
  /// slot waits no more: only draining refuses it.
  std::optional<diagnostics> begin(place& seq) noexcept;

  /// It has a slot now.
  void admission_result(place& seq) noexcept;

  /// Its work is over; it stays taken.
  void rest(place& seq) noexcept;

  /// Nothing is left of it. Once or many times.
  void leave(place& seq) noexcept;

  /// The child goes on where the parent stands: it is never refused for being one more.
  void fork(const place& parent, place& child) noexcept;

  /// Nothing begins from now on.
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
  bool end_work(place& seq) noexcept;  // true: nobody is at work any more, and the engine drains

  const int max_sequences_;
  const int max_waiting_;
  const std::function<void()> idle_;
  mutable std::mutex mutex_;  // guards the counts and every place
  counts counts_;
};

}  // namespace cogen::detail
