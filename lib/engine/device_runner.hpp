#pragma once

#include "engine/device_swap.hpp"
#include "engine/kv_prefetcher.hpp"
#include "engine/sampling_block.hpp"
#include "engine/step_block.hpp"
#include "models/device_network.hpp"

#include <cogen/extend/runner.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::detail {

/// What a runner on a device is told once.
struct device_runner_options {
  int slots = 1;
  int max_sequence_length = 0;
  int max_batched_tokens = 0;  ///< of one step, at most
  int vocabulary = 0;
  std::optional<at::ScalarType> type = {};  ///< of keys and values; none: as the network's
  std::optional<cache::sink_window> sinks = {};
  std::optional<cache::device_quantization> quantization = {};
  int ring = 0;          ///< as in cache::device_options
  bool host = false;     ///< tokens stay on the host, and come near layer by layer
  bool recorded = true;  ///< steps of single tokens are played from recordings, where the device can
};

/// Runs plans on a network and a cache that lie on a device. What a step takes there is begun by launch(), and its end
/// is told by the device: a plan may be launched before the one before it has ended. A step with rows that the host has
/// to see the logits of (those that want them, and samples with callbacks or log-probabilities) has ended when launch()
/// returns.
class device_runner final : public runner {
 public:
  /// Takes all memory that steps need. Throws std::invalid_argument for sizes that the device cannot number.
  device_runner(std::shared_ptr<const device::backend> where, std::shared_ptr<const models::device_network> network,
                const device_runner_options& options);
  ~device_runner() override;

  int vocabulary() const override { return options_.vocabulary; }
  void launch(step_in_progress& step) override;

  const cache::device_cache& cache() const { return cache_; }

 private:
  enum class sampled_by : std::uint8_t { host, device, none };

  /// Some rows of the logits, and whose they are.
  struct wanted_rows {
    int row;  ///< of the plan
    std::int64_t first;
    std::int64_t count;
    sampled_by by = sampled_by::host;
  };

  void prepare_slots(const scheduler::plan& plan);
  void begin_transfers(step_in_progress& step);
  void begin_rows(step_in_progress& step);
  void put_in_order(std::span<const scheduler::row> rows, bool recorded);
  at::Tensor run_recorded(const scheduler::plan& plan);
  at::Tensor run_ragged(const scheduler::plan& plan);
  at::Tensor forward(std::span<const scheduler::row> rows);
  bool describe_sampling(step_in_progress& step, std::int64_t logits);
  sampled_by describe(step_in_progress& step, int row, sampling_row& how);
  void finish_on_device(step_in_progress& step);
  void show_to_host(step_in_progress& step, const at::Tensor& hidden, std::int64_t total);
  void take_sampled(step_in_progress& step, std::size_t turn);
  void warm_up();
  void record_steps();

  const std::shared_ptr<const device::backend> where_;
  const std::shared_ptr<const models::device_network> network_;
  const device_runner_options options_;
  const std::unique_ptr<device::operators> operators_;
  cache::device_cache cache_;
  const std::unique_ptr<device::stream> work_;
  const std::unique_ptr<kv_prefetcher> prefetcher_;  // where tokens stay far
  device_swap swapped_;
  step_block single_;  // what recordings read
  step_block ragged_;
  sampling_block sampling_;
  const models::device_scratch scratch_;
  at::Tensor last_;         // [slots] int32, the token that was last sampled in each
  at::Tensor logits_;       // [score_rows, vocabulary] float32
  at::Tensor host_logits_;  // the same, on the host
  std::map<std::int64_t, std::unique_ptr<device::graph>> graphs_;  // by rows

  std::vector<int> order_;                                  // of the plan's rows, those of one token first
  std::array<std::vector<wanted_rows>, 2> wanted_by_turn_;  // those that sample first
  std::vector<std::int32_t> outputs_;                       // indices into the step's tokens, as wanted_ has them
};

}  // namespace cogen::detail
