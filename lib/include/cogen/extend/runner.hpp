#pragma once

#include <cogen/clock.hpp>
#include <cogen/error.hpp>
#include <cogen/extend/sampling_row.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/scheduler/scheduler.hpp>
#include <cogen/scheduler/step.hpp>
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
  diagnostics error;
  sampled_token chosen;    ///< for scheduler::output::sample
  logits scores;           ///< for scheduler::output::last_logits and all_logits
  bool by_device = false;  ///< `chosen` was sampled as row_sampler::describe() specified
  token predicted = -1;    ///< what the model's own layer expects after `chosen`; -1: nothing
  bool late = false;       ///< nothing is chosen yet: the engine samples it later, without the runner
  bool ends_text = false;  ///< `chosen` completes a text that a guide constrains: nothing but its end may follow
};

/// The result of a device's sample for a described row, with the log-probabilities that it asks for: the same as
/// row_sampler::sample() would return. Thread-safe.
row_output device_outcome(sampling_status status, sampled_token sampled) noexcept;

/// Samples the next token of one sequence with its parameters, or describes how a device samples it. Exactly one of the
/// two is called for each row that wants a sample, in the order of the steps; rows in flight together use the same one.
class row_sampler {
 public:
  virtual ~row_sampler() = default;
  /// Whether sample() calls the caller's own logits processor. Such rows are sampled one after another, on the thread
  /// that launches the step.
  virtual bool has_processor() const noexcept = 0;
  /// Samples the token that follows from `scores` [vocabulary], and modifies them. Called between the forward and the
  /// end of the step, on any threads, for several rows at once. An error becomes the row's own. `drafts` are the first
  /// of the row's draft tokens after which these scores are: for a row with drafts it is called again and again, with
  /// one more each time, as long as it returned the next of them. Where a guide takes too long, the result is late.
  virtual row_output sample(std::span<float> scores, std::span<const token> drafts = {}) noexcept = 0;
  /// Whether row_output::predicted is wanted after the last token that the row samples, from runners of models with
  /// multi-token prediction. Called between the forward and the end of the step, like known_token().
  virtual bool wants_prediction() const noexcept { return false; }
  /// Token number `index` of the sequence, prompt first; -1 if it is not known.
  virtual token known_token(std::size_t /*index*/) const noexcept { return -1; }
  /// For rows that are `scored`: the logits [vocabulary] after token number `index` of the sequence, which the next
  /// token of its prompt follows. Called between the forward and sample(), on any threads, for several tokens at once.
  /// An error becomes the row's own. Where a runner does not call it, request::prompt_logprobs reports zeros.
  virtual diagnostics score_prompt(std::span<const float> scores, int index) noexcept;
  /// The same where a device scores: describes what it needs, except the logits. Called within runner::launch(), and
  /// then set_prompt_score() with the result. Throws std::bad_alloc, which becomes the row's own.
  virtual void describe_prompt(int index, sampling_row& row, sampling_lists& lists);
  /// The result of a device, from device_outcome(). Called as score_prompt() is, in its place.
  virtual void set_prompt_score(int index, sampled_token scored) noexcept;
  /// Describes what a device needs to sample the row, except its slot: fills `row` and appends its lists to `lists`.
  /// Called within runner::launch(). `chained` is that of the step's row: then only the device knows the token before
  /// the sampled one, and `row.unknown_last` is set. The runner gets the result from device_outcome(), and the token
  /// counts for the next rows once the step is absorbed. Returns false and changes nothing if only sample() can do it;
  /// the result is the same for all rows in flight together. Throws std::bad_alloc, and generation_error where a guide
  /// fails, which become the row's own; what was appended to `lists` then belongs to no row. A row with drafts is
  /// described for each of its samples, with the drafts before that. Where it throws with drafts, no token is to be
  /// sampled there and behind, since these drafts are not what the guide allows.
  virtual bool describe(bool chained, sampling_row& row, sampling_lists& lists, std::span<const token> drafts = {});
};

/// Receives the end of each swap-out and swap-in of a step, once: null, or its error. Thread-safe, also before launch()
/// returns. Valid as long as the runner.
class swap_listener {
 public:
  virtual ~swap_listener() = default;
  virtual void transferred(scheduler::swap_id name, std::exception_ptr error) noexcept = 0;  ///< the swap has ended
  /// Schedules `job` to run on the launching thread before the next step, to continue a swap or to end a step. At most
  /// one job at a time for each swap and each step, before its end. If the engine ends first, the job is not called.
  virtual void go_on(std::function<void()> job) noexcept = 0;
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

  /// Adds the sampler of the next of the rows; null if it never wants a sample.
  void add_sampler(std::shared_ptr<row_sampler> one) {
    outputs_.emplace_back();
    sampling_.push_back(std::move(one));
    if (draft_outputs_.size() < sampled_after_drafts.size()) draft_outputs_.resize(sampled_after_drafts.size());
  }

  // For the runner, between launch() and done().

  row_sampler& sampler_of(std::size_t row) { return *sampling_[row]; }  ///< of a row that wants a sample

  /// Sets the output of a row; different rows from any threads.
  void set_output(std::size_t row, row_output what) noexcept {
    rows[row].sampled = what.late ? -1 : what.chosen.id;
    rows[row].failed = static_cast<bool>(what.error);
    rows[row].late = what.late;
    outputs_[row] = std::move(what);
  }

  /// Sets the output of the sample after draft token number `draft` of a row.
  void set_output_after(std::size_t row, int draft, row_output what) noexcept {
    const auto index = static_cast<std::size_t>(rows[row].first_draft + draft);
    sampled_after_drafts[index] = what.error ? -1 : what.chosen.id;
    draft_outputs_[index] = std::move(what);
  }

  /// Token number `index` of a row's sequence; -1 if it is not known.
  token known_token(std::size_t row, std::size_t index) const noexcept {
    return sampling_[row] ? sampling_[row]->known_token(index) : -1;
  }

  /// How many of a row's draft tokens were sampled, whose outputs are all set.
  int accepted_drafts(std::size_t row) const noexcept {
    const auto drafts = drafts_of(rows[row]);
    int accepted = 0;
    while (accepted < rows[row].drafts && drafts[static_cast<std::size_t>(accepted)] == sampled_after(row, accepted))
      ++accepted;
    return accepted;
  }

  /// The token that a row sampled after so many of its draft tokens; -1: none.
  token sampled_after(std::size_t row, int drafts) const noexcept {
    if (drafts == 0) return rows[row].failed ? -1 : rows[row].sampled;
    return sampled_after_drafts[static_cast<std::size_t>(rows[row].first_draft + drafts - 1)];
  }

  /// Sets row_output::predicted of the sample after so many of a row's draft tokens.
  void set_prediction(std::size_t row, int drafts, token predicted) noexcept {
    output_of(row, drafts).predicted = predicted;
  }

  swap_listener& swaps() noexcept { return *swaps_; }  ///< receives the ends of swaps, which may come after the step

  /// For runners that pass the ends of swaps on: `to` receives them, of this step and of those that reuse its memory.
  void report_swaps_to(swap_listener& to) noexcept { swaps_ = &to; }

  /// The runner calls this once, on any thread, when the step has ended. An error means that the device has failed.
  void done(std::exception_ptr error = nullptr) noexcept {
    error_ = std::move(error);
    const auto& on_done = on_done_;
    done_.store(true);
    on_done();
  }

  // For the engine, once the step has ended.

  bool is_done() const noexcept { return done_.load(); }                     ///< whether done() was called
  const std::exception_ptr& error() const noexcept { return error_; }        ///< what done() was called with
  row_output& output_of(std::size_t row) noexcept { return outputs_[row]; }  ///< of a row

  /// Of the sample after so many of a row's draft tokens.
  row_output& output_of(std::size_t row, int drafts) noexcept {
    return drafts == 0 ? outputs_[row] : draft_outputs_[static_cast<std::size_t>(rows[row].first_draft + drafts - 1)];
  }

  /// The output that an event is about.
  row_output& output_of(const scheduler::event& what) noexcept {
    return output_of(static_cast<std::size_t>(what.row), what.after_drafts);
  }

  /// Empties the step and keeps its memory.
  void clear() noexcept {
    scheduler::step::clear();
    sampling_.clear();
    outputs_.clear();
    draft_outputs_.clear();
    error_ = nullptr;
    done_.store(false);
  }

 private:
  std::vector<std::shared_ptr<row_sampler>> sampling_;
  std::vector<row_output> outputs_;
  std::vector<row_output> draft_outputs_;
  swap_listener* swaps_;
  const std::function<void()>& on_done_;
  std::exception_ptr error_;
  std::atomic<bool> done_ = false;
};

/// Executes steps: applies them to the caches, runs the model, samples. Steps arrive in order, on the engine's thread.
/// They contain swap-outs only if limits.swap_bytes allows them or snapshot_format() is not empty, and swap-ins only
/// of those; none may be pending when the runner is destroyed. If swapping in does not restore a slot bit for bit,
/// limits.exact_swaps must be false; entries swapped out `beside` must be restored bit for bit even then.
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
