#pragma once

#include "metrics/histogram.hpp"

#include <cogen/metrics.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace server::metrics {

/// What runs in one of so many places as sequences can run at a time. An engine's slots are more, since some hold
/// prefixes, so a place keeps its number for its sequence, not for a slot.
struct slot_state {
  bool busy = false;
  std::uint64_t sequence = 0;
};

/// What has been counted.
struct counts {
  static constexpr std::size_t reasons = 6;  ///< of cogen::finish_reason

  std::uint64_t prefilled_tokens = 0;  ///< of prompts, computed
  double prefill_seconds = 0;          ///< of steps that read nothing but prompts
  double decode_seconds = 0;           ///< of the others
  std::uint64_t largest_sequence = 0;  ///< tokens of the longest one that has ended
  std::uint64_t texts = 0;             ///< embedded or scored
  std::uint64_t text_tokens = 0;       ///< of those
  std::uint64_t running_texts = 0;     ///< that are to be embedded or scored
  std::array<std::uint64_t, reasons> finished = {};
  histogram first_token{{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160}};
  histogram inter_token{{.001, .0025, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}};
  histogram total{{.1, .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960}};
  histogram queued{{.001, .01, .1, .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 60, 120}};
  std::vector<slot_state> slots = {};
};

/// Counts an engine's events, and gives them to a trace, if there is one. Thread-safe.
class meter final : public cogen::event_sink {
 public:
  meter(int slots, std::shared_ptr<cogen::event_sink> trace);

  counts now() const;

  /// Texts are to be embedded or scored; they were; or they failed.
  void begin_texts(std::size_t texts);
  void end_texts(std::size_t texts, std::size_t tokens, std::chrono::nanoseconds took);
  void fail_texts(std::size_t texts);

  void on_step(const cogen::step_event& step) override;
  void on_sequence(const cogen::sequence_event& event) override;
  void on_end(const cogen::diagnostics& why, cogen::clock::time_point time) override;

 private:
  void count_end(const cogen::sequence_event& event);
  void enter(const cogen::sequence_event& event);
  void leave(std::uint64_t sequence);
  slot_state* place_of(std::uint64_t sequence);  ///< null if it does not run

  mutable std::mutex mutex_;
  counts counts_;
  std::shared_ptr<cogen::event_sink> trace_;
};

}  // namespace server::metrics
