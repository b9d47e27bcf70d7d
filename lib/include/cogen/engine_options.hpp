#pragma once

#include <cogen/detail/cache/layer_factory.hpp>
#include <cogen/detail/cache/sink_window.hpp>
#include <cogen/detail/cache/transfer.hpp>
#include <cogen/detail/cache/view.hpp>
#include <cogen/extend/kv_codec.hpp>
#include <cogen/fwd.hpp>
#include <cogen/load_model.hpp>
#include <cogen/metrics.hpp>
#include <cogen/response_format.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace cogen {

/// How the steps are filled.
struct batching_options {
  int slots = 16;  ///< sequences that hold a slot at the same time, at least 1; further ones wait
  /// Tokens of one step: one for each running sequence, then prompts in chunks. Smaller shortens the gap between two
  /// tokens of a stream, larger reads prompts faster. Empty: 128, and 256 in steps of prompts alone; 2,048 on a GPU.
  std::optional<int> max_batched_tokens = {};
  /// How long a step with both prompts and running streams should take. It reads as many prompt tokens as fit, judged
  /// by earlier steps, but at least a sixteenth of max_batched_tokens. Empty: no target.
  std::optional<std::chrono::microseconds> target_step_latency = {};
  /// How long a step waits for callers that got a result in the previous one and are about to continue. 0: not at all.
  std::chrono::microseconds max_batch_delay{100};
};

/// How keys, values and recurrent states are stored.
struct kv_options {
  /// Bytes for all caches, at least 1. A sequence waits while its whole length does not fit. Empty: half of the
  /// machine's memory; on a GPU what is free there. There, too, memory is allocated as tokens come, in pages of 2 MiB;
  /// rings, quantized and offloaded caches, and models on several GPUs allocate that of all slots at the start.
  std::optional<std::int64_t> bytes = {};
  /// The type of keys and values. Empty: the model's, float16 if its weights are quantized. A GPU has that and fp8.
  std::optional<cache::scalar> dtype = {};
  /// Quantizes all but the newest tokens: cache::int8(), cache::int4(), … Empty: none.
  std::optional<cache::quantization> quantization = {};
  /// Keeps only the first tokens and a window of the newest ones, so that a sequence can grow without end. Not together
  /// with `quantization`. Empty: keeps all.
  std::optional<cache::sink_window> sinks = {};
  /// Whether the caches live in host memory, and each layer is prefetched while the previous one computes.
  bool offload = false;
  /// Copies what is prefetched; a GPU copies by itself. Its jobs must not depend on the engine thread. Empty: an own
  /// thread; with external_stepping, the thread that steps.
  std::shared_ptr<cache::transfer> transfer = {};
  /// Computes equal first tokens of requests once; output does not change. See request::prefix_caching, cache_salt.
  bool prefix_caching = true;
  /// Bytes, besides `bytes`, for checkpoints within prompts: states, and tokens of windows, that a cache which forgets
  /// them needs to share a part of a prompt. Least recently used first. Ignored on a GPU. 0 disables them. Empty: a
  /// sixteenth of the machine's memory.
  std::optional<std::int64_t> checkpoint_bytes = {};
  /// Tokens between two of them, at least 1; more in long prompts, up to a twentieth. Empty: 128, and more where taking
  /// them would take a fiftieth of the time in which a prompt is read.
  std::optional<int> checkpoint_interval = {};
  /// Stores cached prefixes when the engine ends, for the next one of the same model and cache. Engines may share it.
  std::filesystem::path prefix_cache_directory = {};
  std::int64_t prefix_cache_file_bytes = std::int64_t{16} << 30;  ///< its size limit; least recently used first
  /// Receives which blocks of tokens the prefix cache holds, for routers. Empty: none, at no cost.
  std::shared_ptr<kv_event_sink> events = {};
  int event_block_size = 16;  ///< tokens of such a block, at least 1
  /// Makes own cache layers on a CPU; returns null for those that are built in. Called while the engine is made.
  cache::layer_factory layer_factory = {};
  /// Tokens that a sequence can be truncated by without recomputing, in caches that forget: windows, sinks, quantized.
  int max_rollback_tokens = 64;
  /// On a CPU, for models with recurrent layers: the most draft tokens of a row, 0 to max_rollback_tokens. Each takes
  /// memory for one more state of a slot. Empty: 1 if the model predicts tokens
  /// (load_options::multi_token_prediction), otherwise 0. On a GPU such models run no draft tokens.
  std::optional<int> max_recurrent_drafts = {};
};

/// How swapped out caches are stored.
enum class swap_format : std::uint8_t {
  exact,  ///< bit by bit

  /// Keys and values of full, sliding and chunked attention take 8 bits a number, and 16 more for each 32 numbers:
  /// 0.53 of 16 bits, 0.27 of 32 bits. A number changes by at most half a 125th of the largest of its 32, each time it
  /// is swapped out. Quantized caches, recurrent states, encoder states and own layers are stored bit by bit.
  q8,
};

/// Where the caches of preempted sequences go.
struct swap_options {
  /// Host memory in bytes, besides kv.bytes. A sequence that finds no room is computed again from its tokens. 0: none.
  /// Empty: a quarter of the machine's memory.
  std::optional<std::int64_t> bytes = {};
  /// Beyond `bytes`, caches go to an unnamed file in this directory, and are checked when read. Empty: no file.
  std::filesystem::path directory = {};
  std::int64_t file_bytes = std::int64_t{16} << 30;  ///< the size limit of that file
  /// After a swap with q8, `usage.exact` and `sequence::exact()` are false, and the sequence's prefix is not shared.
  swap_format format = swap_format::exact;
  /// Copies and writes while steps go on; a GPU copies by itself, to memory that a job allocates. Its jobs must not
  /// depend on the engine thread. Empty: an own thread; with external_stepping, the thread that steps.
  std::shared_ptr<cache::transfer> transfer = {};
};

/// Factories of built-in or own policies, called once while the engine is made; not called for engines of own parts.
struct policy_options {
  /// Orders waiting requests: scheduler::by_priority(), fair_share(), earliest_deadline_first(). Empty: fcfs().
  std::function<std::unique_ptr<scheduler::scheduling_policy>()> scheduling = {};
  /// Chooses what is preempted first: scheduler::least_cached(), largest(). Empty: longest_idle().
  std::function<std::unique_ptr<scheduler::preemption_policy>()> preemption = {};
  /// How much of kv.bytes a request reserves: scheduler::watermarks() admits more requests where most end early, and
  /// preempts the newest where they do not. Empty: reserve_max_length(); watermarks() on a device that allocates memory
  /// as tokens come.
  std::function<std::unique_ptr<scheduler::allocation_policy>()> allocation = {};
  /// How long an idle sequence (slow reader, no pending operation) may hold its slot while another one waits. Then it
  /// is preempted: its cache is swapped out, and restored bit by bit when it continues, except with swap_format::q8.
  std::chrono::milliseconds idle_timeout{50};
};

/// Beyond these, requests are refused.
struct limit_options {
  /// Tokens of one sequence, prompt included. Empty: the positions of the model; 2^20 if it has no limit, 2^30 with
  /// sinks; on a GPU at most what fits: in one slot, or in each where all memory is allocated at the start.
  std::optional<int> max_sequence_length = {};
  /// Tokens that an encoder reads for one sequence, which reserves that memory. Empty: the model's limit, or 512.
  std::optional<int> max_encoder_length = {};
  /// Sequences that the engine holds: running, idle and waiting. The next one fails with error::queue_full. A handle
  /// counts from its first operation. Forks are always accepted, and count.
  int max_sequences = 4096;
  /// Of those, sequences that may wait for their first slot while none is free: slots of idle sequences are free. 0:
  /// what finds no free slot is refused. A tenant that has fewer waiting than an equal share of them, among the tenants
  /// that wait, may add to a full queue.
  int max_waiting = 1024;
};

/// How an engine works. The defaults suit a server that has the machine to itself. Numbers without a stated limit have
/// one, too, far above what a machine can use: 65,536 slots, 2^20 tokens of a step or window, 1,024 threads, a year.
///
///     cogen::engine engine(model, {.batching = {.slots = 8}, .kv = {.quantization = cogen::cache::int8()}});
struct engine_options {
  batching_options batching = {};
  kv_options kv = {};
  swap_options swap = {};
  policy_options policies = {};
  limit_options limits = {};
  structured_output_options structured_output = {};
  /// How matrix products are computed. `int8` rounds activations to 8 bits, which is faster and shifts every logit a
  /// little; `float32` rounds nothing. On a CPU output is batch-invariant either way. Empty: `int8` there if most
  /// weights are quantized, else `float32`, which is all that a GPU has.
  std::optional<cogen::compute_type> compute_type = {};
  /// Whether a device computes the same logits, bit for bit, alone and in any batch, however a prompt is cut, and after
  /// swaps, as a CPU always does. That takes time there, most of all for prompts. Models and caches whose operators
  /// cannot do so are refused by name. Not yet tested on GPU hardware.
  bool batch_invariant = false;

  std::optional<int> threads = {};  ///< that compute, with the engine's own; at least 1; empty: all the process may use
  bool external_stepping = false;   ///< no thread of its own: it steps when the program calls `poll_one()`
  /// Receives errors that no operation reports: an exception from a handler on the engine's executor, a failed step.
  /// Called on the engine thread; must not throw. Empty: they are dropped.
  std::function<void(std::string_view)> log = {};
  /// Receives the events of every request and step, for metrics or a chrome_trace. Empty: none, at no cost.
  std::shared_ptr<event_sink> events = {};
};

/// How an engine serves one sequence and its forks. The last four are as in `request`.
struct open_options {
  std::optional<int> max_sequence_length = {};  ///< tokens, from 1 to that of engine_options.limits; empty: that
  int priority = 0;
  std::uint64_t tenant = 0;
  bool prefix_caching = true;
  std::optional<std::string> cache_salt = {};
};

/// For whom an engine embeds, scores or compiles.
struct work_options {
  std::uint64_t tenant = 0;  ///< as in `request`: tenants take turns
};

}  // namespace cogen
