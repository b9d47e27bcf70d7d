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
/// One that runs is `accepted` first and `scheduled` next; it ends with exactly one of `cancelled` and `finished`. One
/// that is never accepted has a single event: `refused`, or one of those two where it was let go of or stopped before.
/// But a sequence, unlike a stream, may be refused and asked to run again.
struct sequence_event {
  enum class kind : std::uint8_t {
    accepted,      ///< queued for a slot; `tokens`: of its prompt, or, forked, of what it holds
    refused,       ///< not accepted, because of `error`
    scheduled,     ///< it has `slot`, its first one, or another one than before
    prefilled,     ///< in `step`, `tokens` of its prompt were run; or several fed at once, or those lost by preemption
    first_token,   ///< in `step` the first token was sampled; a sequence: its first result came
    preempted,     ///< it has left `slot` to others that need it or its memory, or because its owner asked for that
    resumed,       ///< preempted before, it has a slot again: `slot`
    swapping_out,  ///< `tokens` begin to go from `slot`, which it has just left, to the host
    swapped_out,   ///< they are there; or they are lost, because of `error`
    swapping_in,   ///< `tokens` begin to come back into `slot`
    swapped_in,    ///< they are there; or they are lost, because of `error`, and will be run again
    cancelled,     ///< its handle was destroyed before it had ended, the usual end of a sequence
    finished,      ///< for `reason`; where that is `failed`, because of `error`
  };

  kind what;
  std::uint64_t id;      ///< as token_stream::id() and sequence::id() say
  clock::time_point at;  ///< when it happened, by the engine's clock
  int slot = -1;         ///< the one it has, or has just left; -1: none
  int tokens = 0;
  std::uint64_t step = 0;  ///< the last one that served it; 0: none
  finish_reason reason = finish_reason::aborted;
  diagnostics error = {};
  cogen::usage usage = {};                      ///< of a stream; final at its end
  cogen::request_metrics request_metrics = {};  ///< up to this event
};

std::string_view to_string(sequence_event::kind what) noexcept;

/// One forward pass that has ended, and what the engine held while it ran.
struct step_event {
  std::uint64_t number;     ///< from 1
  clock::time_point begin;  ///< when it was launched
  clock::time_point end;    ///< when the engine's thread had its results
  int rows;                 ///< sequences served: the batch size
  int tokens;               ///< run, those of prompts included
  int prefilled;            ///< of those, how many belonged to rows that prefilled
  int slots_in_use;
  int waiting;               ///< sequences that want a slot and have none
  int preempted;             ///< sequences that have left their slot and have none again
  std::int64_t cache_bytes;  ///< set aside for the slots that are held
};

/// Is told what happens in an engine, in the order in which it does. Override what you want to know.
///
/// Called on the thread that drives the engine, between steps, under no lock: it must not block, and every microsecond
/// in it delays the batch. It may use the engine and its handles, but neither drive the engine nor, where that is
/// driven by hand, end it. An exception out of it is logged (engine_options::log), and the engine lets go of the sink
/// and tells it no more. One sink may be given to several engines if it can be called from several threads.
class event_sink {
 public:
  virtual ~event_sink() = default;

  /// A step comes before what it did to its sequences.
  virtual void on_step(const step_event&) {}
  virtual void on_sequence(const sequence_event&) {}

  /// The engine has ended, because of `why`: error::engine_stopped, or error::device_failed where it died. The last of
  /// all; every sequence that was accepted has had its end before.
  virtual void on_end(const diagnostics& /*why*/, clock::time_point /*at*/) {}
};

}  // namespace cogen
