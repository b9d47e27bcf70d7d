#pragma once

#include "engine/runner/caching_runner.hpp"
#include "engine/runner/sampling_block.hpp"
#include "engine/snapshot/device_slots.hpp"
#include "network/nn/device/device_model.hpp"
#include "network/nn/device/device_step.hpp"
#include "network/nn/device/kv_prefetcher.hpp"
#include "network/nn/device/step_block.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::detail {

struct device_runner_options {
  int max_batched_tokens = 0;  ///< of one step, at most
  int max_draft_tokens = 0;    ///< of one step, at most
  int vocabulary = 0;
  bool batch_invariant = false;  ///< as in engine_options
  bool recorded = true;  ///< steps of few tokens replay graphs, if the device supports them and the cache is on it
};

/// How many rows of logits a runner computes at a time, in slots of that number: all that one step samples from, and
/// all that it returns.
std::int64_t logits_rows(int slots, const device_runner_options& options);

/// The most tokens of its steps.
std::int64_t step_tokens(int slots, const device_runner_options& options);

/// Executes steps on a network and a cache on a device. launch() only enqueues a step's work, and the device reports
/// its end, so a step may be launched before the previous one has ended. A step with rows that only the host can sample
/// (those with the caller's own processor) ends on the launching thread, before a later launch; such rows are never
/// chained.
///
/// Where the cache gets memory as tokens come and the device refuses it, the rows that need it fail with
/// error::out_of_memory, and the others run.
///
/// Each rank of a split model has one. Rank 0 alone samples, and tells the others the tokens last sampled; their steps
/// have no samplers. Where another rank fails, launch() throws parallel::rank_error, or the step ends with it.
class device_runner final : public caching_runner {
 public:
  /// Steps in flight, at most: each has its own one of the buffers that steps use in turn.
  static constexpr int max_in_flight = 2;

  /// Tokens of a step whose rows want output::all_logits.
  static constexpr int max_all_logits_tokens = 64;

  /// Allocates all other memory that steps need. Throws std::invalid_argument if the caches are too large for the
  /// device's int32 token offsets. The slots are of the model's layers.
  device_runner(std::shared_ptr<const nn::device_model> model, std::shared_ptr<device_slots> slots,
                std::string snapshot_format, swap_room room, const device_runner_options& options);
  ~device_runner() override;

  int vocabulary() const override { return options_.vocabulary; }
  /// Allocates what libraries do on first use, on this thread, and captures graphs.
  void start() override;
  void launch(step& step) override;
  void trim() override { slots_->kv.trim(); }

 private:
  enum class sampled_by : std::uint8_t { host, device, none };

  /// What logits are wanted for, in the order of a step's logits.
  enum class purpose : std::uint8_t { sample, output, score };

  /// The rows [first, first + count) of the step's logits, which belong to one of its rows.
  struct wanted_rows {
    int row;  ///< of the step
    purpose use;
    std::int64_t first;
    std::int64_t count;
    sampled_by sampler = sampled_by::host;
    std::int64_t written = 0;  // of the rows, where the device samples or scores
  };

  /// Tokens [begin, begin + count) of a row.
  struct token_part {
    int begin = 0;
    int count = 0;
  };

  void read_encoder_inputs(const scheduler::step& step);
  void begin_rows(step& step);
  void reserve_memory(step& step);
  static token_part wanted_for(purpose use, const scheduler::row& row);
  bool is_recorded(std::span<const scheduler::row> rows) const;
  void put_in_order(const scheduler::step& step, bool recorded);
  void run_recorded();
  void write_samples(step& step, std::int64_t logits);
  sampled_by write_samples_of(step& step, wanted_rows& wanted);
  sampled_by write_scores_of(step& step, wanted_rows& wanted);
  bool samples() const;
  void score_and_sample(const at::Tensor& hidden, std::int64_t total, const sampling_lists& lists);
  void sample_from(std::int64_t first, const at::Tensor& logits);
  void copy_logits_to_host();
  void broadcast_tokens(const scheduler::step& step);
  void check_ranks() const;
  std::exception_ptr propagate_error(const std::exception_ptr& error) const noexcept;
  void end_after_device(step& step);
  void end(step& step, std::exception_ptr error);
  void take_results(step& step, std::size_t turn);
  void take(step& step, const wanted_rows& wanted, std::size_t turn);
  void take_scores(step& step, const wanted_rows& wanted, std::size_t turn);
  row_output result_of(std::size_t turn, std::int64_t sample) const noexcept;
  std::span<float> logits_of(const wanted_rows& wanted, std::size_t turn) const;
  void sample_on_host(std::size_t turn);
  std::int32_t kept_in(const scheduler::row& row, std::int64_t sample) const;
  void warm_up(std::int64_t single, std::int64_t prompt);
  void record_steps();

  const std::shared_ptr<const nn::device_model> model_;
  const std::shared_ptr<device_slots> slots_;
  const device_runner_options options_;
  const std::unique_ptr<device::operators> operators_;
  const std::unique_ptr<nn::kv_prefetcher> prefetcher_;  // null unless the cache is in host memory
  nn::device_step step_;                                 // its last(): see kept_in()
  nn::step_block recorded_;                              // read by the graphs, which are of that step
  sampling_block sampling_;
  std::optional<nn::device_step> encoder_step_;                    // if the model has an encoder
  at::Tensor logits_;                                              // [logits_rows, vocabulary] float32
  std::array<at::Tensor, 2> host_logits_;                          // the same, on the host, by turn
  std::map<std::int64_t, std::unique_ptr<device::graph>> graphs_;  // by tokens

  std::atomic<int> in_flight_ = 0;  // steps that have not ended

  std::vector<int> order_;                                  // of the step's rows: rows of one token first
  std::vector<nn::token_row> rows_;                         // [order]
  std::int64_t tokens_ = 0;                                 // of all of them
  std::array<std::vector<wanted_rows>, 2> wanted_by_turn_;  // in the order of their purposes
  std::array<step*, 2> sampled_on_host_{};                  // what the device has computed of it, by turn
  std::vector<std::int32_t> outputs_;                       // indices into the step's tokens, in the same order
};

}  // namespace cogen::detail
