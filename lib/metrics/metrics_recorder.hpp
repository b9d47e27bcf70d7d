#pragma once

#include <cogen/metrics.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace cogen::detail {

/// Records the metrics of one request, and the events of it that have not been reported yet.
class metrics_recorder {
 public:
  enum class place : std::uint8_t { outside, waiting, running, preempted, over };
  enum class ending : std::uint8_t { finished, cancelled };

  metrics_recorder(std::uint64_t id, clock::time_point opened) : id_(id), since_(opened) { times_.opened = opened; }

  std::uint64_t id() const noexcept { return id_; }

  // Any thread.

  /// The metrics up to `now`, or up to its end if that is earlier.
  request_metrics times(clock::time_point now) const noexcept;

  /// Records its end; only the first call has an effect. Returns the time from opening to end.
  clock::duration end(clock::time_point now, ending how) noexcept;

  // The engine thread only.

  void accept(clock::time_point now, int tokens) noexcept;

  /// Records that it has `slot`. Returns its place before; nothing if it already had this slot, or has ended.
  std::optional<place> schedule(int slot, clock::time_point now) noexcept;

  /// Its tokens are already in its slot, so that a next row of one token does not prefill.
  void inherit() noexcept { prefilling_ = false; }

  /// Records that it has lost its slot. True if it had one.
  bool preempt(clock::time_point now) noexcept;

  struct served {
    clock::time_point begin;
    clock::time_point end;
    std::uint64_t step;
    bool prefilled;
    bool fed_all;  ///< all tokens that it was fed have been run
  };

  /// Records a step with a row of it. False after its end: then nothing is recorded.
  bool serve(const served& by) noexcept;

  /// Whether a row of it with `count` tokens prefills. `fed_all`: no fed token is left after this row.
  bool prefills(int count, bool fed_all) const noexcept { return count > 1 || !fed_all || prefilling_; }

  /// Records that its last step brought a token or a result. Returns the time from opening to the first one.
  clock::duration bring() noexcept;

  /// Records that an operation of it was refused before the scheduler accepted it.
  void refuse(clock::time_point now) noexcept {
    refused_ = now;
    has_news_ = true;
  }

  int slot() const noexcept { return slot_; }
  int tokens() const noexcept { return tokens_; }  ///< when it was accepted
  std::uint64_t step() const noexcept { return step_; }

  struct news {
    std::optional<clock::time_point> refused;
    std::optional<clock::time_point> brought;  ///< its first token or result
    std::optional<clock::time_point> ended;
    ending how = ending::finished;
    place before = place::outside;  ///< where it was before its end
  };

  /// The events since the last call.
  news untold() noexcept;

 private:
  static clock::duration* spent_in(place where, request_metrics& times) noexcept;
  void enter(place where, clock::time_point now) noexcept;

  const std::uint64_t id_;
  int slot_ = -1;
  int tokens_ = 0;
  std::uint64_t step_ = 0;
  clock::time_point served_until_{};
  bool prefilling_ = true;
  std::optional<clock::time_point> refused_;
  bool told_first_ = false;
  bool told_end_ = false;

  std::atomic<bool> has_news_ = false;         // untold() has events to return
  std::atomic<place> where_ = place::outside;  // changed under the lock; by other threads only to `over`

  mutable std::mutex mutex_;  // guards the four below, and changes of the members above
  request_metrics times_;
  place before_ = place::outside;
  ending how_ = ending::finished;
  clock::time_point since_;
};

}  // namespace cogen::detail
