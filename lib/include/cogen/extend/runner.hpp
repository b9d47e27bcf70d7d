#pragma once

#include <cogen/clock.hpp>
#include <cogen/detail/sampling_batch.hpp>
#include <cogen/detail/scheduler/step.hpp>
#include <cogen/detail/scheduler/types.hpp>
#include <cogen/error.hpp>
#include <cogen/policy.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/text/chat_template.hpp>
#include <cogen/text/tokenizer.hpp>
#include <cogen/token.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cogen {

namespace nn {
class text_encoder;
}

/// The result of one row of a step: an error, or what it wanted.
struct row_output {
  diagnostics error = {};
  sampled_token chosen = {};  ///< for scheduler::output::sample
  logits scores = {};         ///< for scheduler::output::last_logits and all_logits
  token predicted = -1;       ///< what the model's own layer expects after `chosen`; -1: nothing
  bool late = false;          ///< a guide takes too long: the engine samples from `scores` later, without the runner
  bool ends_text = false;     ///< `chosen` completes a text that a guide constrains: nothing but its end may follow
};

/// Receives the end of each swap-out and swap-in of a step, once: null, or its error. Thread-safe, also before launch()
/// returns. Valid as long as the runner.
class swap_listener {
 public:
  virtual ~swap_listener() = default;
  virtual void on_swap_done(scheduler::swap_id name, std::exception_ptr error) noexcept = 0;  ///< the swap has ended
  /// Schedules `job` to run on the launching thread before the next step, to continue a swap or to end a step. At most
  /// one job at a time for each swap and each step, before its end. If the engine ends first, the job is not called.
  virtual void post_to_engine_thread(std::function<void()> job) noexcept = 0;
};

/// Reads bytes in order: each call returns the next piece, which is valid until the next call, and an empty one at the
/// end. Throws if the bytes cannot be read, or have changed since they were stored; the latter after the last piece.
using snapshot_reader = std::function<std::span<const std::byte>()>;

/// A copy of a slot's contents, wherever it is stored. Immutable and thread-safe.
class kv_snapshot {
 public:
  virtual ~kv_snapshot() = default;

  virtual std::size_t size() const noexcept = 0;   ///< bytes
  virtual int encoder_input() const noexcept = 0;  ///< tokens of the slot's encoder input
  virtual snapshot_reader read() const = 0;        ///< its bytes; it must outlive the reader
};

/// One step of an engine: planned by the scheduler, executed by a runner, absorbed by the scheduler. Its memory is
/// reused, and it stays at its address until it has been absorbed.
class step : public scheduler::step {
 public:
  /// done() calls `on_done`, which must not throw. Both must outlive the step.
  step(swap_listener& swaps, const std::function<void()>& on_done) : swaps_(&swaps), on_done_(on_done) {}

  sampling_batch sampling;  ///< how its rows are sampled

  // For the engine, once the step is planned.

  /// Adds how the next of the rows is sampled; its samples are added behind that.
  row_sampling& add_row_sampling() {
    return sampling.rows.emplace_back(row_sampling{.first = sampling.samples.size()});
  }

  /// Adds the next sample of the last row: first its scores, then its own. Valid until another one is added.
  sampling_row& add_sample(const sampling_row& sample) {
    outputs_.emplace_back();
    return sampling.samples.emplace_back(sample);
  }

  /// The samples that the last row lacks become padding.
  void pad_samples();

  // For the runner, between launch() and done(). Different rows from any threads.

  /// Samples a row with output::sample on this thread from its `scores` [1 + drafts, vocabulary], which are modified,
  /// and sets its outputs: the first one, and one more after each draft token that was sampled before it. The first
  /// that was not is the end. Does nothing for a row that has failed.
  void sample(std::size_t row, std::span<float> scores) noexcept;

  /// Scores the token that follows token number `index` of a row that is `scored`, from the `scores` [vocabulary] after
  /// it, before the row is sampled; several of a row from any threads. An error fails the row. Where a runner scores
  /// none, request::prompt_logprobs reports zeros.
  void score(std::size_t row, int index, std::span<const float> scores) noexcept;

  // Where a device samples.

  /// Sets the output of a row, or of its sample after so many of its draft tokens.
  void set_output(std::size_t row, row_output output, int drafts = 0) noexcept;

  /// Sets the score of the token that follows token number `index` of a row that is `scored`: the token as `chosen`.
  void set_score(std::size_t row, int index, row_output scored) noexcept;

  /// Sets row_output::predicted of the sample after so many of a row's draft tokens.
  void set_prediction(std::size_t row, int drafts, token predicted) noexcept {
    output_of(row, drafts).predicted = predicted;
  }

  /// How many of a row's draft tokens were sampled, whose outputs are all set.
  int accepted_drafts(std::size_t row) const noexcept;

  /// The token that a row with output::sample sampled after so many of its draft tokens; -1: none.
  token sampled_after(std::size_t row, int drafts) const noexcept {
    return rows[row].failed ? -1 : sampled_of(rows[row], drafts);
  }

  swap_listener& swaps() noexcept { return *swaps_; }  ///< receives the ends of swaps, which may come after the step

  /// For runners that pass the ends of swaps on: `listener` receives them, of this step and of those that reuse its
  /// memory.
  void report_swaps_to(swap_listener& listener) noexcept { swaps_ = &listener; }

  /// The runner calls this once, on any thread, when the step has ended. An error means that the device has failed.
  void done(std::exception_ptr error = nullptr) noexcept {
    error_ = std::move(error);
    const auto& on_done = on_done_;
    done_.store(true);
    on_done();
  }

  // For the engine, once the step has ended.

  bool is_done() const noexcept { return done_.load(); }               ///< whether done() was called
  const std::exception_ptr& error() const noexcept { return error_; }  ///< what done() was called with

  /// Of a row, or of its sample after so many of its draft tokens.
  row_output& output_of(std::size_t row, int drafts = 0) noexcept {
    return outputs_[sample_of(row, rows[row].scores() + drafts)];
  }

  /// Fails the row if a token of it could not be scored. False if it has failed.
  bool check_scores(std::size_t row) noexcept;

  /// The scores of the tokens that follow a row's, in their order, if it has not failed.
  std::span<row_output> scores_of(std::size_t row) noexcept {
    return std::span(outputs_).subspan(sample_of(row, 0), static_cast<std::size_t>(rows[row].scores()));
  }

  /// Empties the step and keeps its memory.
  void clear() noexcept;

 private:
  std::size_t sample_of(std::size_t row, int index) const noexcept {
    return sampling.rows[row].first + static_cast<std::size_t>(index);
  }

  std::vector<row_output> outputs_;  // of each sample
  swap_listener* swaps_;
  const std::function<void()>& on_done_;
  std::exception_ptr error_;
  std::atomic<bool> done_ = false;
};

/// Executes steps: applies them to the caches, runs the model, samples. Steps arrive in order, on the engine's thread.
/// They contain swap-outs only if limits.swap_bytes allows them or snapshot_format() is not empty, and swap-ins only
/// of those; none may be pending when the runner is destroyed. If swapping in does not restore a slot bit for bit,
/// limits.exact_swaps must be false; entries of copies (`is_copy`) must be restored bit for bit even then.
class runner {
 public:
  virtual ~runner() = default;

  virtual int vocabulary() const = 0;  ///< tokens in the model's vocabulary
  /// Called once, on the thread that launches steps, before the first of them. What it throws, the engine's constructor
  /// throws; with external stepping it ends the engine, at the first poll_one().
  virtual void start() {}
  /// Starts `step` and calls its `done()` when it has ended, possibly before returning. `step` is valid until then.
  virtual void launch(step& step) = 0;
  /// Called on the thread that launches steps when there is none to launch while some are in flight. A runner whose
  /// steps end on that thread alone ends the oldest of them. What it throws is that step's error.
  virtual void finish() {}
  /// Called on the same thread when no step has been in flight for ten seconds: memory that nothing needs can go back.
  /// What it throws ends the engine.
  virtual void trim() {}
  /// Identifies everything that the bytes of a snapshot depend on, except the model: equal strings mean compatible
  /// bytes. Empty: this runner provides no snapshots, and sessions hold tokens only.
  virtual std::string snapshot_format() const { return {}; }

  /// What a swap-out stored under `name`, or null.
  virtual std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id /*name*/) const { return nullptr; }

  /// Stores the snapshot under `name`, as if it had been swapped out of one of this runner's slots. Where that is not
  /// possible, a step still drops the name.
  virtual void keep(scheduler::swap_id /*name*/, std::shared_ptr<const kv_snapshot> /*what*/) {}

  /// Whether all numbers in the bytes of a snapshot, of a slot with `length` tokens and `source` of an encoder's input,
  /// are finite. Any thread, also when the runner is gone.
  using finite_check = std::function<bool(std::span<const std::byte> bytes, int length, int source)>;

  /// Checks such snapshots; empty: that cannot be told.
  virtual finite_check check_of_numbers() const { return {}; }

  /// A snapshot from the bytes of a runner with the same format.
  virtual std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte>, int /*source*/) const { return {}; }
};

/// What an engine has to know of a model with an encoder.
struct encoder_spec {
  token start;      ///< every answer begins with it
  int longest = 0;  ///< tokens of an encoder input
};

/// What an engine consists of. `engine(model, options)` fills it in; a program with its own runner does so itself.
struct engine_parts {
  std::unique_ptr<cogen::runner> runner;
  scheduler::limits limits;
  std::unique_ptr<scheduler::scheduling_policy> scheduling_policy = scheduler::fcfs();
  std::unique_ptr<scheduler::preemption_policy> preemption_policy = scheduler::longest_idle();
  std::unique_ptr<scheduler::allocation_policy> allocation_policy = scheduler::reserve_max_length();
  std::shared_ptr<const text::tokenizer> tokenizer;  ///< none: prompts are token ids, and pieces have no text
  std::shared_ptr<const text::chat_template> chat;   ///< none: chat messages are refused
  std::string chat_error;                            ///< why there is none, if the model brings one
  std::vector<token> end_tokens;                     ///< end a generation unless its request ignores them
  std::optional<encoder_spec> encoder_inputs;        ///< none: the model has no encoder
  std::shared_ptr<nn::text_encoder> texts;           ///< none: the model does not embed
  bool predicts_tokens = false;                      ///< whether the runner sets row_output::predicted
  std::string fingerprint;                           ///< of the model: sessions are opened where it is the same
  std::shared_ptr<const cogen::clock> clock = std::make_shared<steady_clock>();
};

}  // namespace cogen
