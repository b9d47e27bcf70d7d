#pragma once

#include <cogen/clock.hpp>
#include <cogen/error.hpp>
#include <cogen/piece.hpp>

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string_view>

namespace cogen {

/// When what happened to one stream or sequence, by the engine's clock, and what its time went into: from `accepted` to
/// `ended`, or to now while it lives, is `waiting + running + preempted`. A plain value.
struct request_metrics {
  using time_point = clock::time_point;
  using duration = clock::duration;

  time_point opened;                      ///< `generate()`, `open()` or `fork()` was called
  std::optional<time_point> accepted;     ///< it was queued for a slot: a sequence by its first operation or its fork
  std::optional<time_point> scheduled;    ///< it had a slot for the first time
  std::optional<time_point> first_token;  ///< its prompt was run, and the first token sampled; a sequence: first result
  std::optional<time_point> last_token;   ///< the newest token; a sequence: result
  std::optional<time_point> ended;

  duration waiting{};    ///< for its first slot
  duration running{};    ///< with a slot, whether steps served it or its reader was slow
  duration computing{};  ///< of `running`: in steps that had a row of it
  duration preempted{};  ///< without a slot, after it had had one

  int steps = 0;          ///< that had a row of it and ended while it lived
  int prefill_steps = 0;  ///< of those, how many ran a prompt, several tokens fed at once, or those lost by preemption
  int preemptions = 0;    ///< how often it left its slot before it ended
};

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

/// What an engine has done since it began, and holds now.
struct engine_stats {
  std::uint64_t steps = 0;    ///< forward passes
  std::uint64_t rows = 0;     ///< sequences served, over all steps: rows / steps is the mean batch
  std::uint64_t tokens = 0;   ///< tokens run, those of prompts included
  std::uint64_t sampled = 0;  ///< tokens sampled

  std::uint64_t finished = 0;   ///< streams that ended well: at an end token, their length, a stop string, or stopped
  std::uint64_t failed = 0;     ///< that ended badly after they had been accepted
  std::uint64_t cancelled = 0;  ///< whose handle was destroyed before they had ended
  std::uint64_t refused = 0;    ///< not accepted: bad parameters, no room, a full engine

  int sequences = 0;                ///< accepted and not gone, when the engine last looked
  int scheduled = 0;                ///< of those, how many have a slot
  int waiting = 0;                  ///< of those, how many want a slot and have none
  std::int64_t waiting_tokens = 0;  ///< in the prompts of those that have never had a slot
  int queued = 0;                   ///< at this moment: how many wait for their first slot, which max_waiting bounds
  bool draining = false;            ///< at this moment: nothing begins any more
  int free_slots = 0;
  std::uint64_t preempted = 0;           ///< how often a sequence gave its slot up to another one, since the beginning
  std::uint64_t swapped_out = 0;         ///< of those, how often what it had cached was kept
  std::uint64_t prefix_hit_tokens = 0;   ///< tokens that requests began with and nobody had to run again
  int prefix_cached_slots = 0;           ///< hold what is kept of sequences that have gone
  std::int64_t cache_bytes = 0;          ///< set aside for the slots that are held
  std::int64_t prefix_cached_bytes = 0;  ///< set aside for what would be given up as soon as others need it
  std::int64_t swap_bytes = 0;           ///< set aside for what is swapped out, in memory and on the file

  int peak_rows = 0;     ///< the largest batch
  int peak_waiting = 0;  ///< the most that waited at the same time
  std::int64_t peak_cache_bytes = 0;
};

/// Writes what happens in one engine as a trace that chrome://tracing and ui.perfetto.dev show: the Trace Event Format,
/// as an array of JSON objects (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
///
/// Track "engine" has a slice for each step, with its number, rows and tokens, and a mark for each refusal. Track
/// "slot N" has a slice "request ID" for each time that a sequence has that slot, and in it a slice "prefill" for each
/// step that prefilled it. Counters say what held during a step, and are written where they change: "batch size"
/// [rows], "slots in use", "waiting" and "preempted" [sequences], "cache" [bytes]. Times are microseconds of the
/// engine's clock.
///
/// Whole events are written, and flushed at the end of the engine or of this sink, whichever comes first, and about ten
/// times a second: what a dying process leaves behind is a valid trace that lacks only the bracket at its end, which
/// the format allows. Where writing fails, std::system_error goes to the engine, which logs it and lets go of the sink.
/// For one engine; not to be called from several threads.
class chrome_trace final : public event_sink {
 public:
  /// `out` is used until the end of this sink.
  explicit chrome_trace(std::ostream& out);

  /// Overwrites `file`. Throws std::system_error where it cannot be written.
  explicit chrome_trace(const std::filesystem::path& file);

  ~chrome_trace() override;

  void on_step(const step_event& step) override;
  void on_sequence(const sequence_event& event) override;
  void on_end(const diagnostics& why, clock::time_point at) override;

 private:
  class writer;
  std::unique_ptr<writer> writer_;
};

}  // namespace cogen
