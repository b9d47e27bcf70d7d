#pragma once

#include <cogen/error.hpp>
#include <cogen/extend/sampling_row.hpp>
#include <cogen/logits.hpp>
#include <cogen/sampling_params.hpp>
#include <cogen/scheduler/plan.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace cogen {

/// What one row of a step came to: an error, or what its plan row wanted.
struct row_output {
  diagnostics error;
  sampled_token chosen;    ///< scheduler::output::sample
  logits scores;           ///< scheduler::output::last_logits, all_logits
  bool by_device = false;  ///< `chosen` was sampled from what row_sampler::describe() said
};

/// What the device's sample of a described row came to: the same as row_sampler::sample() would say. Any thread.
row_output device_outcome(sampling_status status, token sampled) noexcept;

/// Samples the next token of one sequence with that sequence's own parameters, or says how a device samples it. One of
/// the two is asked for each row that wants a sample, in the order of the plans; and of rows that are in flight
/// together the same one.
class row_sampler {
 public:
  virtual ~row_sampler() = default;

  /// The token that follows from `scores` [vocabulary], which is changed. Called between the forward and the end of the
  /// step, by one thread at a time. Never throws: what goes wrong is the row's own error.
  virtual row_output sample(std::span<float> scores) noexcept = 0;

  /// What a device needs to sample the row by itself, its slot left out: written to `row`, and its lists appended to
  /// `lists`. Called within runner::launch(). `chained` is that of the plan's row: the token before the sampled one is
  /// then known to the device alone, and `row.unknown_last` says so. The runner has the outcome from device_outcome(),
  /// and the token counts for the next rows once the step is absorbed.
  ///
  /// False, with nothing changed: only draw() can, always so for rows in flight together. Throws std::bad_alloc; what
  /// was appended to `lists` then belongs to no row.
  virtual bool describe(bool chained, sampling_row& row, sampling_lists& lists);
};

/// Told how the swap-outs and swap-ins of plans have ended, each once: null, or what stopped it. Any thread, also
/// before launch() returns. Lives as long as the runner.
class swap_listener {
 public:
  virtual ~swap_listener() = default;
  virtual void transferred(scheduler::swap_id name, std::exception_ptr error) noexcept = 0;

  /// Has `job` called before the next plan, between steps, on the thread that launches: a transfer goes on there. At
  /// most one for each transfer, before its end. Where the engine ends first, it is not called.
  virtual void go_on(std::function<void()> job) noexcept = 0;
};

/// What was copied out of a slot, wherever it is kept. Immutable; any thread may read it.
class kv_snapshot {
 public:
  virtual ~kv_snapshot() = default;

  virtual std::size_t size() const noexcept = 0;   ///< bytes
  virtual int encoder_input() const noexcept = 0;  ///< tokens of the slot's source

  /// Visits the bytes in order, piece by piece. Throws what `visit` does, and where they cannot be read, or have
  /// changed since they were kept: the latter after all pieces.
  virtual void read(const std::function<void(std::span<const std::byte>)>& visit) const = 0;
};

/// One step on its way through a runner.
class step_in_progress {
 public:
  virtual ~step_in_progress() = default;

  virtual const scheduler::plan& plan() const = 0;

  /// One outcome for each of the plan's rows, for the runner to fill in.
  virtual std::span<row_output> outcomes() = 0;

  /// Who samples for a row that wants a sample.
  virtual row_sampler& sampler_of(int row) = 0;

  /// Whom to tell about the plan's swap-outs and swap-ins, which may end after the step.
  virtual swap_listener& transfers() = 0;

  /// The runner says that the step has ended, from any thread, once. With an error, the device itself has failed.
  virtual void done(std::exception_ptr error = nullptr) noexcept = 0;
};

/// Carries out plans: applies them to the caches, runs the model, samples. Plans arrive in order, on the engine's
/// thread. There are swap-outs only where limits.swap_bytes allows them or snapshot_format() names a format, and
/// restores only of those; none may be left when the runner is gone. A runner whose restores do not bring back bit by
/// bit what was swapped out needs limits.exact_swaps = false; what is swapped out `beside` comes back so all the same.
class runner {
 public:
  virtual ~runner() = default;

  /// Tokens the model knows.
  virtual int vocabulary() const = 0;

  /// Begins `step` and calls its `done()` when it has ended, possibly before returning. `step` lives until then.
  virtual void launch(step_in_progress& step) = 0;

  /// Says all that the bytes of a snapshot depend on beside the model: equal texts, equal forms. Empty: this runner
  /// gives out no snapshots, and sessions hold tokens alone.
  virtual std::string snapshot_format() const { return {}; }

  /// What a swap-out has left under `name`, or null.
  virtual std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id /*name*/) const { return nullptr; }

  /// It is kept under `name` from now on, as if it had been swapped out from one of this runner's slots. Where that
  /// cannot be, or the snapshot cannot be made, a plan drops the name all the same.
  virtual void keep(scheduler::swap_id /*name*/, std::shared_ptr<const kv_snapshot> /*what*/) {}

  /// A snapshot of a runner with the same format, from its bytes.
  virtual std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte> /*bytes*/, int /*source*/) const {
    return nullptr;
  }
};

}  // namespace cogen
