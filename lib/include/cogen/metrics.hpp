#pragma once

#include <cogen/clock.hpp>
#include <cogen/error.hpp>
#include <cogen/token.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cogen {

/// How a generation ended.
enum class finish_reason : std::uint8_t {
  eos,                ///< an end token, or a stop token of the request; or nothing may follow what has come
  stop_string,        ///< a stop string of the request appeared
  length,             ///< max_tokens were generated, or the context is full
  aborted,            ///< `stop()` was called
  failed,             ///< see `error()`
  deadline_exceeded,  ///< the request's `finish_within` is over
};

std::string_view to_string(finish_reason reason) noexcept;

/// What a generation took.
struct usage {
  int prompt_tokens = 0;
  int cached_tokens = 0;  ///< of the prompt, how many were not computed anew
  int generated_tokens = 0;
  int draft_tokens = 0;           ///< run: of request::speculative, and forced by a format
  int accepted_draft_tokens = 0;  ///< of those, how many were generated
  bool exact = true;  ///< false after a swap with swap_format::q8: output may differ from that of the request alone
  std::chrono::nanoseconds time_to_first_token{};  ///< from `generate()` until the first token was sampled
  std::chrono::nanoseconds total_time{};           ///< from `generate()` until the end
};

/// How much of a prompt has been read: `processed` of `total`, and of what had to be computed, `processed - cached` of
/// `total - cached`.
struct prompt_progress {
  int total = 0;                    ///< tokens of the prompt
  int cached = 0;                   ///< of those, how many were not computed anew
  int processed = 0;                ///< of those, how many are done: cached ones, and those that were computed
  std::chrono::nanoseconds time{};  ///< from when its first step began until the last one of these ended

  bool operator==(const prompt_progress&) const = default;
};

/// Times of one stream or sequence, by the engine's clock, and how it spent them: the time from `accepted` to `ended`,
/// or until now, is `waiting + running + preempted`. A plain value.
struct request_metrics {
  using time_point = clock::time_point;
  using duration = clock::duration;

  time_point opened;                      ///< `generate()`, `open()` or `fork()` was called
  std::optional<time_point> accepted;     ///< queued for a slot: a sequence by its first operation, a fork when made
  std::optional<time_point> scheduled;    ///< it first got a slot
  std::optional<time_point> first_token;  ///< the first token was sampled; of a sequence: the first result
  std::optional<time_point> last_token;   ///< the newest token; of a sequence: result
  std::optional<time_point> ended;

  duration waiting{};    ///< for its first slot
  duration running{};    ///< with a slot, whether in steps or waiting for its reader
  duration computing{};  ///< of `running`: in steps that had a row of it
  duration preempted{};  ///< without a slot after it had one

  int steps = 0;          ///< steps that had a row of it and ended before it did
  int prefill_steps = 0;  ///< of those, how many ran a prompt, several tokens fed at once, or tokens lost by preemption
  int preemptions = 0;    ///< how often it gave up its slot before it ended
};

/// Something that happened to one stream or sequence. One that runs is first `accepted`, then `scheduled`, and ends
/// with exactly one of `cancelled` and `finished`. One that is never accepted has a single event: `refused`, or one of
/// those two if it was destroyed or stopped before. A sequence, unlike a stream, may run after it was refused.
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

  kind type;
  std::uint64_t id;        ///< as token_stream::id() and sequence::id() return it
  clock::time_point time;  ///< by the engine's clock
  int slot = -1;           ///< the one it holds or has just given up; -1: none
  int tokens = 0;
  std::uint64_t step = 0;  ///< the last one that had a row of it; 0: none
  finish_reason reason = finish_reason::aborted;
  diagnostics error = {};
  cogen::usage usage = {};                      ///< of a stream; final at its end
  cogen::request_metrics request_metrics = {};  ///< up to this event
};

std::string_view to_string(sequence_event::kind type) noexcept;

/// One forward pass that has ended, and the state of the engine while it ran.
struct step_event {
  std::uint64_t number = 0;      ///< from 1
  clock::time_point begin = {};  ///< when it was launched
  clock::time_point end = {};    ///< when the engine's thread had its results
  int rows = 0;                  ///< sequences in the batch: the batch size
  int tokens = 0;                ///< computed, those of prompts included
  int prefilled = 0;             ///< of those, how many belonged to prefill rows
  int slots_in_use = 0;
  int waiting = 0;               ///< sequences that want a slot and have none
  int preempted = 0;             ///< preempted sequences that have no slot yet
  std::int64_t cache_bytes = 0;  ///< reserved for the slots in use
};

/// Receives the events of an engine, in order. Called between steps on the engine's thread, with no lock held. It must
/// not block: the batch waits for it. It may use the engine and its handles, but must not step the engine, nor end it
/// if it is stepped externally. If it throws, the exception is logged (engine_options::log), and the engine calls the
/// sink no more. One sink may serve several engines if it is thread-safe.
class event_sink {
 public:
  virtual ~event_sink() = default;

  virtual void on_step(const step_event&) {}          ///< comes before the events of the step's sequences
  virtual void on_sequence(const sequence_event&) {}  ///< something happened to a sequence or stream

  /// The engine has ended, with error::engine_stopped or device_failed. The last event: all sequences have ended
  /// before.
  virtual void on_end(const diagnostics& /*why*/, clock::time_point /*at*/) {}
};

/// Blocks that the prefix cache holds from now on: consecutive ones of one sequence.
///
/// A block is kv_options::event_block_size tokens, from a multiple of that on. SHA-256 of its tokens and of the digest
/// of the block before it, or for the first one of tenant and salt, names all tokens up to its end, and is the same in
/// every engine. Its last 64 bits are told as the block's hash; the engine itself compares all of them.
struct kv_blocks_stored {
  std::vector<std::uint64_t> block_hashes = {};
  std::optional<std::uint64_t> parent_block_hash = {};  ///< of the block before the first of these, if there is one
  std::vector<token> token_ids = {};                    ///< of all these blocks
  std::string cache_salt = {};                          ///< names tenant and salt; empty: tenant 0 without a salt
};

/// Blocks that it does not hold any more.
struct kv_blocks_removed {
  std::vector<std::uint64_t> block_hashes;  ///< a block comes before the one that it continues
};

/// It holds nothing.
struct kv_blocks_cleared {};

using kv_event = std::variant<kv_blocks_stored, kv_blocks_removed, kv_blocks_cleared>;

/// Receives what an engine's prefix cache holds, for routers that send requests where their first tokens are cached.
///
/// A block is held while slots of running, idle or ended sequences have it for other requests to share; it is stored
/// once, however many slots hold it. Caches that forget (windows, recurrent states, quantized ones) may share less than
/// a slot holds: such an engine may find fewer tokens than its events say. None shares a prefix of fewer than 16
/// tokens.
class kv_event_sink {
 public:
  virtual ~kv_event_sink() = default;

  /// What a step has changed, never empty: first what was stored, a block after the one that it continues, then what
  /// was removed. The first event of an engine is kv_blocks_cleared.
  ///
  /// Called between steps on the engine's thread, with no lock held; `batch` is valid until it returns. It must not
  /// block. If it throws, the exception is logged (engine_options::log), and the engine calls the sink no more.
  virtual void on_kv_events(std::span<const kv_event> batch) = 0;
};

/// Counts since the engine began, and what it holds now.
struct engine_stats {
  std::uint64_t steps = 0;                  ///< forward passes
  std::uint64_t rows = 0;                   ///< sequences in the batches of all steps: rows / steps is the mean batch
  std::uint64_t tokens = 0;                 ///< tokens computed, those of prompts included
  std::uint64_t sampled = 0;                ///< tokens sampled
  std::uint64_t draft_tokens = 0;           ///< run
  std::uint64_t accepted_draft_tokens = 0;  ///< of those, how many were sampled

  std::uint64_t finished = 0;   ///< streams that ended without an error
  std::uint64_t failed = 0;     ///< streams that failed after they were accepted
  std::uint64_t cancelled = 0;  ///< streams whose handle was destroyed before they ended
  std::uint64_t refused = 0;    ///< not accepted: bad parameters, no room, a full engine

  int sequences = 0;                ///< accepted and not ended
  int scheduled = 0;                ///< of those, how many have a slot
  int waiting = 0;                  ///< of those, how many want a slot and have none
  std::int64_t waiting_tokens = 0;  ///< in the prompts of those that never had a slot
  int queued = 0;                   ///< now: how many wait for their first slot, which max_waiting limits
  bool draining = false;            ///< now: nothing new is accepted
  int compiling = 0;                ///< now: response formats that are compiled, or wait for it
  int free_slots = 0;
  std::uint64_t preempted = 0;           ///< preemptions
  std::uint64_t swapped_out = 0;         ///< of those, how often the cache was swapped out
  std::uint64_t prefix_hit_tokens = 0;   ///< prompt tokens found in the prefix cache
  int prefix_cached_slots = 0;           ///< slots that hold prefixes of ended sequences
  std::int64_t cache_bytes = 0;          ///< reserved for the slots in use
  std::int64_t prefix_cached_bytes = 0;  ///< reserved for prefixes, given up as soon as others need them
  std::int64_t swap_bytes = 0;           ///< used by swapped-out caches, in memory and in the file

  int peak_rows = 0;     ///< the largest batch
  int peak_waiting = 0;  ///< the most sequences that waited at the same time
  std::int64_t peak_cache_bytes = 0;
};

/// Writes an engine's events as a trace for chrome://tracing and ui.perfetto.dev: the Trace Event Format, as an array
/// of JSON objects (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). For one engine,
/// not thread-safe.
///
/// Track "engine" has a slice for each step, with its number, rows and tokens, and an instant event for each refusal.
/// Track "slot N" has a slice "request ID" while a sequence holds the slot, and in it a slice "prefill" for each step
/// that prefilled it. Counters of a step are written when they change: "batch size" [rows], "slots in use", "waiting"
/// and "preempted" [sequences], "cache" [bytes]. Times are microseconds of the engine's clock.
///
/// Only whole events are written, flushed about ten times a second and when the engine or this sink ends. A process
/// that dies leaves out only the closing bracket, which the format allows. If writing fails, the engine logs
/// std::system_error and releases the sink.
class chrome_trace final : public event_sink {
 public:
  explicit chrome_trace(std::ostream& out);                  ///< `out` must outlive this sink
  explicit chrome_trace(const std::filesystem::path& file);  ///< overwrites it; throws std::system_error if it cannot
  ~chrome_trace() override;

  void on_step(const step_event& step) override;
  void on_sequence(const sequence_event& event) override;
  void on_end(const diagnostics& why, clock::time_point time) override;

 private:
  class writer;
  std::unique_ptr<writer> writer_;
};

}  // namespace cogen
