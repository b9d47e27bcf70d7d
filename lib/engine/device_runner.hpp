#pragma once

#include "engine/device_road.hpp"
#include "engine/device_spills.hpp"
#include "engine/draw_block.hpp"
#include "engine/step_block.hpp"
#include "models/device_network.hpp"

#include <cogen/runner.hpp>

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
  int max_length = 0;
  int step_tokens = 0;  ///< of one step, at most
  int vocabulary = 0;
  std::optional<at::ScalarType> type = {};  ///< of keys and values; none: as the network's
  std::optional<cache::sink_window> sinks = {};
  std::optional<cache::device_packing> packing = {};
  int ring = 0;          ///< as in cache::device_options
  bool far = false;      ///< tokens stay on the host, and come near layer by layer
  bool recorded = true;  ///< steps of single tokens are played from recordings, where the device can
};

/// Runs plans on a network and a cache that lie on a device. What a step takes there is begun by launch(), and its end
/// is told by the device: a plan may be launched before the one before it has ended. A step with rows that the host has
/// to see the logits of (those that want them, and draws with callbacks or log-probabilities) has ended when launch()
/// returns.
class device_runner final : public runner {
 public:
  /// Takes all memory that steps need. Throws std::invalid_argument for sizes that the device cannot number.
  device_runner(std::shared_ptr<const device::place> where, std::shared_ptr<const models::device_network> network,
                const device_runner_options& options);
  ~device_runner() override;

  int vocabulary() const override { return options_.vocabulary; }
  void launch(step_run& step) override;

  const cache::device_cache& cache() const { return cache_; }

 private:
  enum class drawn_by : std::uint8_t { host, device, nobody };

  /// Some rows of the logits, and whose they are.
  struct wanted_rows {
    int row;  ///< of the plan
    std::int64_t first;
    std::int64_t count;
    drawn_by by = drawn_by::host;
  };

  void prepare_slots(const scheduler::plan& plan);
  void begin_transfers(step_run& step);
  void begin_rows(step_run& step);
  void put_in_order(std::span<const scheduler::row> rows, bool recorded);
  at::Tensor run_recorded(const scheduler::plan& plan);
  at::Tensor run_ragged(const scheduler::plan& plan);
  at::Tensor forward(std::span<const scheduler::row> rows);
  bool describe_draws(step_run& step, std::int64_t logits);
  drawn_by describe(step_run& step, int row, device_draw& how);
  void finish_on_device(step_run& step);
  void show_to_host(step_run& step, const at::Tensor& hidden, std::int64_t total);
  void take_drawn(step_run& step, std::size_t turn);
  void warm_up();
  void record_steps();

  const std::shared_ptr<const device::place> where_;
  const std::shared_ptr<const models::device_network> network_;
  const device_runner_options options_;
  const std::unique_ptr<device::operators> operators_;
  cache::device_cache cache_;
  const std::unique_ptr<device::queue> work_;
  const std::unique_ptr<device_road> road_;  // where tokens stay far
  device_spills spilled_;
  step_block single_;  // what recordings read
  step_block ragged_;
  draw_block draws_;
  const models::device_scratch scratch_;
  at::Tensor last_;         // [slots] int32, the token that was last drawn in each
  at::Tensor logits_;       // [score_rows, vocabulary] float32
  at::Tensor host_logits_;  // the same, on the host
  std::map<std::int64_t, std::unique_ptr<device::recording>> recordings_;  // by rows

  std::vector<int> order_;                                  // of the plan's rows, those of one token first
  std::array<std::vector<wanted_rows>, 2> wanted_by_turn_;  // those that draw first
  std::vector<std::int32_t> outputs_;                       // indices into the step's tokens, as wanted_ has them
};

}  // namespace cogen::detail
