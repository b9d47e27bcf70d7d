#pragma once

#include <cogen/clock.hpp>
#include <cogen/error.hpp>
#include <cogen/piece.hpp>
#include <cogen/request_metrics.hpp>

#include <cstdint>
#include <string_view>

namespace cogen {

/// Something that happened to one stream or sequence.
///
/// One that runs is first `accepted`, then `scheduled`, and ends with exactly one of `cancelled` and `finished`. One
/// that is never accepted has a single event: `refused`, or one of those two if its handle was destroyed or it was
/// stopped before. A sequence, unlike a stream, may be refused and then asked to run again.
struct sequence_event {
  /// What happened.
  enum class kind : std::uint8_t {
    accepted,      ///< queued for a slot; `tokens`: of its prompt; of a fork: all it holds
    refused,       ///< not accepted because of `error`
    scheduled,     ///< it got `slot`, its first one or another one than before
    prefilled,     ///< `step` ran `tokens` of its prompt, several tokens fed at once, or tokens lost by preemption
    first_token,   ///< `step` sampled its first token; of a sequence: its first result arrived
    preempted,     ///< it gave up `slot`, because others need it or its memory, or because of suspend()
    resumed,       ///< it got a slot again after preemption: `slot`
    swapping_out,  ///< copying of `tokens` from `slot`, which it has given up, to the host begins
    swapped_out,   ///< the copy has ended; with `error` it failed, and the tokens are lost
    swapping_in,   ///< copying of `tokens` back into `slot` begins
    swapped_in,    ///< the copy has ended; with `error` it failed, and the tokens will be recomputed
    cancelled,     ///< its handle was destroyed before it had ended, the usual end of a sequence
    finished,      ///< for `reason`; if that is `failed`, because of `error`
  };

  kind what;
  std::uint64_t id;      ///< as token_stream::id() and sequence::id() return it
  clock::time_point at;  ///< by the engine's clock
  int slot = -1;         ///< the one it holds or has just given up; -1: none
  int tokens = 0;
  std::uint64_t step = 0;  ///< the last one that had a row of it; 0: none
  finish_reason reason = finish_reason::aborted;
  diagnostics error = {};
  cogen::usage usage = {};                      ///< of a stream; final at its end
  cogen::request_metrics request_metrics = {};  ///< up to this event
};

std::string_view to_string(sequence_event::kind what) noexcept;

/// One forward pass that has ended, and the state of the engine while it ran.
struct step_event {
  std::uint64_t number;     ///< from 1
  clock::time_point begin;  ///< when it was launched
  clock::time_point end;    ///< when the engine's thread had its results
  int rows;                 ///< sequences in the batch: the batch size
  int tokens;               ///< computed, those of prompts included
  int prefilled;            ///< of those, how many belonged to prefill rows
  int slots_in_use;
  int waiting;               ///< sequences that want a slot and have none
  int preempted;             ///< preempted sequences that have no slot yet
  std::int64_t cache_bytes;  ///< reserved for the slots in use
};

/// Receives the events of an engine, in order. Override the members you need.
///
/// Called between steps on the engine's thread, with no lock held. It must not block, and every microsecond in it
/// delays the batch. It may use the engine and its handles, but must not step the engine, nor end it if it is stepped
/// externally. If it throws, the exception is logged (engine_options::log), and the engine releases the sink and calls
/// it no more. One sink may serve several engines if it is thread-safe.
class event_sink {
 public:
  virtual ~event_sink() = default;

  /// Comes before the events of the step's sequences.
  virtual void on_step(const step_event&) {}

  /// Something happened to a sequence or stream.
  virtual void on_sequence(const sequence_event&) {}

  /// The engine has ended because of `why`: error::engine_stopped, or error::device_failed. The last event of all:
  /// every accepted sequence has ended before.
  virtual void on_end(const diagnostics& /*why*/, clock::time_point /*at*/) {}
};

}  // namespace cogen
