#pragma once

#include <cogen/metrics.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace cogen::detail {

/// What has happened to one request: its metrics as they are written, and what of it nobody was told yet.
class metrics_recorder {
 public:
  enum class place : std::uint8_t { outside, waiting, running, preempted, over };
  enum class ending : std::uint8_t { finished, cancelled };

  metrics_recorder(std::uint64_t id, clock::time_point opened) : id_(id), since_(opened) { times_.opened = opened; }

  std::uint64_t id() const noexcept { return id_; }

  // Any thread.

  /// Up to `now`, where it has not ended before.
  request_metrics times(clock::time_point now) const noexcept;

  /// The first end counts. Returns how long it lasted.
  clock::duration end(clock::time_point now, ending how) noexcept;

  // The driving thread alone.

  void take_in(clock::time_point now, int tokens) noexcept;

  /// It has `slot` from now on. Where that is news: where it was before. Nothing after its end, too.
  std::optional<place> sit(int slot, clock::time_point now) noexcept;

  /// What it holds is in its slot: its next row is none that prefills.
  void inherit() noexcept { prefilling_ = false; }

  /// It has left its slot. True where it had one.
  bool preempt(clock::time_point now) noexcept;

  struct served {
    clock::time_point begin;
    clock::time_point end;
    std::uint64_t step;
    bool prefilled;
    bool fed_all;  ///< nothing of what it was fed is left
  };

  /// A step with a row of it has ended. False after its end: then this counts no more.
  bool serve(const served& by) noexcept;

  /// Whether a row of it that feeds `count` tokens, and is the last to do so where `fed_all`, prefills.
  bool prefills(int count, bool fed_all) const noexcept { return count > 1 || !fed_all || prefilling_; }

  /// The step that served it last has brought a token or a result. Returns how long the first one has taken.
  clock::duration bring() noexcept;

  /// An operation of it was turned down before it was accepted.
  void refuse(clock::time_point now) noexcept {
    refused_ = now;
    has_news_ = true;
  }

  int slot() const noexcept { return slot_; }
  int tokens() const noexcept { return tokens_; }  ///< when it was accepted
  std::uint64_t step() const noexcept { return step_; }

  struct news {
    std::optional<clock::time_point> refused;
    std::optional<clock::time_point> brought;  ///< the first time
    std::optional<clock::time_point> ended;
    ending how = ending::finished;
    place before = place::outside;  ///< its end
  };

  /// What has come since this was last asked.
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

  std::atomic<bool> has_news_ = false;         // something that nobody was told yet
  std::atomic<place> where_ = place::outside;  // changed under the lock, and to `over` alone by any thread

  mutable std::mutex mutex_;  // guards the four below, and changes of those above
  request_metrics times_;
  place before_ = place::outside;
  ending how_ = ending::finished;
  clock::time_point since_;
};

}  // namespace cogen::detail
