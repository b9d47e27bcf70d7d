#pragma once

#include <cogen/cache/codec.hpp>
#include <cogen/cache/layer_factory.hpp>
#include <cogen/cache/sink_window.hpp>
#include <cogen/cache/transfer.hpp>
#include <cogen/cache/view.hpp>
#include <cogen/compute_type.hpp>
#include <cogen/event_sink.hpp>
#include <cogen/scheduler/allocation_policy.hpp>
#include <cogen/scheduler/preemption_policy.hpp>
#include <cogen/scheduler/scheduling_policy.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace cogen {

/// How what is swapped out from a slot is kept.
enum class swap_format : std::uint8_t {
  exact,  ///< bit by bit

  /// Keys and values of full, sliding and chunked attention take 8 bits a number, and 16 more for each 32 numbers of a
  /// head's value, or of one dimension of its keys: 0.53 of what they take in 16 bits, 0.27 of 32 bits. A number is off
  /// by half a 125th of the largest of its 32 at most; each time a sequence is swapped out costs that anew. What an
  /// engine already keeps packed (engine_options::quantized, its newest tokens too), recurrent states, what encoders
  /// have read, and what own layers write are kept bit by bit.
  q8,
};

/// How an engine works. Every default suits a server that has the machine to itself.
struct engine_options {
  /// Sequences that run, or rest with their cache in place, at the same time. Further ones wait for a slot.
  int slots = 16;

  /// Tokens one sequence may hold, prompt included. 0: as many positions as the model was made for; 2^20 for one that
  /// was made for any number.
  int max_sequence_length = 0;

  /// Tokens that an encoder reads for one sequence. 0: as many as the model was made for. Memory for that many is set
  /// aside with each sequence. Models without an encoder have no use for it.
  int max_encoder_length = 0;

  /// Tokens of one step: one for each running sequence, then prompts in chunks up to this many in all. Smaller keeps
  /// the gap between two tokens of a running stream short, larger reads prompts faster. 0: 128, and 256 of prompts
  /// alone, in steps that no running stream waits for; 2,048 where the model is on a GPU.
  int max_batched_tokens = 0;

  /// How long a step should take that running streams wait for and prompts are read in: the gap that prompts may make
  /// between two tokens of a stream. Such a step reads as many prompt tokens as fit in by what former steps took, up to
  /// max_batched_tokens, and never fewer than a sixteenth of those, so that prompts go on whatever is asked for. What
  /// streams alone take is not shortened. 0: steps are as full as max_batched_tokens says.
  std::chrono::microseconds target_step_latency{0};

  /// Bytes that caches may take; a sequence whose whole length does not fit now waits. 0: half of the machine's memory.
  /// On a GPU slots * max_sequence_length tokens are taken at the start, out of these bytes or, with 0, of what is free
  /// there; a max_sequence_length of 0 is then as many tokens as fit.
  std::int64_t cache_bytes = 0;

  /// How products are computed: compute_type::float32 with the numbers that the weights' format defines,
  /// compute_type::int8 with activations rounded to 8 bits, which takes a fraction of the time and shifts every logit a
  /// little (README). Either way a sequence's tokens are the same in any company. Each engine of a model has its own;
  /// for models on a device there is exact only.
  cogen::compute_type compute_type = cogen::compute_type::float32;

  /// The number format of keys and values. Empty: the model's own, float16 where its weights are quantized. On a GPU
  /// the model's own or fp8, which only a GPU has.
  std::optional<cache::scalar> kv_dtype;

  /// All but the newest tokens are kept packed: cache::int8(), cache::int4(), … Empty: none are.
  std::optional<cache::quantization> kv_quantization;

  /// Only the first tokens and a window of the newest ones are kept, and sequences may go on without end. Then
  /// max_sequence_length counts a sequence's tokens, not the model's positions; 0: 2^30. Not with `quantized`.
  std::optional<cache::sink_window> sinks;

  /// Caches live behind this, and come near layer by layer while a step computes. Empty: they stay near. Where the
  /// model is on a GPU they live on the host, up to cache_bytes, the device copies by itself, and steps are not
  /// recorded; whatever is given here only says so.
  std::shared_ptr<cache::transfer> kv_offload;

  /// Tokens are run once for all requests that begin with them: what a slot holds is shared with those that come, and
  /// kept when its request has ended, until others need the memory. Never changes what is generated. Requests can stay
  /// out of it, see request::reuse() and request::salt(); hand-driven sequences share with cache salt 0.
  bool prefix_caching = true;

  /// Makes cache layers of your own, or returns null for those that shall be as the options above say. Called while
  /// the engine is made. Their memory is counted as their footprint_terms() say.
  cache::layer_factory layer_factory;

  /// Tokens that a sequence can be cut back by without running its tokens again, where windows, packed tokens or sinks
  /// forget: what rings keep beyond their need.
  int max_rollback_tokens = 64;

  /// How long a sequence that rests (its reader is slow, its owner asks for nothing) keeps its slot while another one
  /// waits for it. After that it is preempted: what it has cached is swapped out, and it leaves its slot. It goes on to
  /// the same bits, but with swap_format::q8. One that runs is preempted only where the order below lets another one
  /// displace it, or where memory is set aside as sequences grow (`reservation`).
  std::chrono::milliseconds idle_timeout{50};

  /// Bytes, beside the caches, for what is swapped out. A preempted sequence that finds no room there is run again from
  /// its tokens. Empty: a quarter of the machine's memory. 0: nothing is swapped out, but to a file.
  std::optional<std::int64_t> swap_bytes;

  /// Where there is no room for more in memory, what is swapped out goes to a file in this directory, as long as
  /// swap_file_bytes have room; so swap_bytes of 0 sends everything there. The file has no name, and is gone with the
  /// engine. What is read back is checked; where that fails, the sequence is run again from its tokens. On its way it
  /// takes memory beside swap_bytes; what engine::open() has read stays in memory. The thread on which swap_transfer
  /// tells of its ends writes and reads it. Empty: there is no file.
  std::filesystem::path swap_directory;

  /// The most bytes of that file.
  std::int64_t swap_file_bytes = std::int64_t{16} << 30;

  /// How what is swapped out is kept, in memory and on the file, and counts there. With swap_format::q8 more sequences
  /// find room, and one that comes back does not go on to the same bits: from then on `usage.exact` and
  /// `sequence::exact()` are false, and nobody else begins with what it holds. Those that are not swapped out, or are
  /// run again from their tokens, are not touched by this. On its way a slot's content takes memory in full, too.
  cogen::swap_format swap_format = cogen::swap_format::exact;

  /// Copies what is swapped out, while steps go on. Its jobs have to end without the help of the engine's thread.
  /// Empty: a thread of the engine's own; with `external_stepping`, the thread that steps, at once.
  std::shared_ptr<cache::transfer> swap_transfer;

  /// Makes the order in which requests are served that wait for a slot or to be read: scheduler::by_priority(),
  /// scheduler::fair_share(), scheduler::earliest_deadline_first() or one of your own. Called once, while the engine is
  /// made. Empty: first come, first served. Engines of own parts have the order of their parts instead.
  std::function<std::unique_ptr<scheduler::scheduling_policy>()> scheduling_policy;

  /// Makes the policy that says who is preempted first: scheduler::longest_idle(), scheduler::least_cached(),
  /// scheduler::largest() or one of your own. Called once, while the engine is made. Empty: who has rested longest.
  std::function<std::unique_ptr<scheduler::preemption_policy>()> preemption_policy;

  /// Makes the policy that says how much of the cache budget is set aside for a request:
  /// scheduler::reserve_max_length(), scheduler::watermarks() or one of your own. Called once, while the engine is
  /// made. Empty: all that the request may ever come to, its prompt and max_tokens together. With watermarks more
  /// requests run beside each other where most end far below their max_tokens; where they do not, those that came last
  /// are preempted until there is memory again.
  std::function<std::unique_ptr<scheduler::allocation_policy>()> allocation_policy;

  /// Sequences that the engine takes in, running, resting and waiting ones together: the next one is answered
  /// error::queue_full, on the spot. A hand-driven sequence counts from its first operation until its handle goes;
  /// forks are always accepted, and count.
  int max_sequences = 4096;

  /// Of those, how many may wait for their first slot, from `generate()`, or from a sequence's first operation, until
  /// the step that gives them one: also with free slots, so it should be no less than what may come between two steps.
  /// More than max_sequences never comes to pass. One that was preempted, and waits for a slot again, does not count.
  int max_waiting = 1024;

  /// How long a step waits for owners who were given a result in the last step and are about to ask for more, so that
  /// loops under strict control share one batch. 0: never.
  std::chrono::microseconds max_batch_delay{100};

  /// Threads that compute, the engine's own among them. 0: as many as the process may use.
  int threads = 0;

  /// True: the engine has no thread of its own, and steps when its owner calls `poll_one()`.
  bool external_stepping = false;

  /// Told, on the engine's thread, what nobody else can be told: an exception out of a handler run on its executor, the
  /// death of the device. Silent by default. Must not throw.
  std::function<void(std::string_view)> log;

  /// Told of every request and every step: metrics, a log, a chrome_trace. Empty: nobody is, and that costs nothing.
  std::shared_ptr<event_sink> events;
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

}  // namespace cogen
