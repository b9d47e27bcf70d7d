#pragma once

#include "snapshot/swap_store.hpp"

#include <cogen/extend/runner.hpp>
#include <cogen/model.hpp>

#include <memory>
#include <vector>

namespace cogen::detail {

/// Executes steps on a model and its cache, on the thread that launches them. A step has ended when `launch()` returns.
class model_runner final : public runner {
 public:
  /// `own` makes the cache's layers; for those it leaves out, or if it is empty, the options apply. If `swap_by` is
  /// null, a worker thread of the runner copies for swaps.
  model_runner(std::shared_ptr<const model> model, const cache::options& options, const cache::layer_factory& own,
               std::shared_ptr<cache::transfer> swap_by, swap_room room, workspace run);

  int vocabulary() const override { return model_->config().vocabulary; }
  void launch(step& step) override;
  std::string snapshot_format() const override { return snapshot_format_; }
  std::shared_ptr<const kv_snapshot> snapshot(scheduler::swap_id name) const override {
    return swapped_.snapshot(name);
  }
  void keep(scheduler::swap_id name, std::shared_ptr<const kv_snapshot> what) override {
    swapped_.keep(name, std::move(what));
  }
  std::shared_ptr<const kv_snapshot> make_snapshot(std::vector<std::byte> bytes, int encoder_input) const override {
    return std::make_shared<stored_snapshot>(bytes, encoder_input);
  }

  const cache::cache& cache() const { return cache_; }

 private:
  struct row_scores {
    std::size_t row;
    float* scores;  // [vocabulary]
  };

  void prepare_slots(const scheduler::step& step);
  void begin_swaps(step& step);
  void read_encoder_inputs(const scheduler::step& step);
  const batch& collect(const scheduler::step& step);
  void set_outputs(step& step, float* scores);
  void sample(step& step);

  const std::shared_ptr<const model> model_;
  cache::cache cache_;
  const std::string snapshot_format_;
  swap_store swapped_;
  workspace workspace_;
  batch batch_;  // of the last step, like the three below
  std::vector<cache::step_row> rows_;
  std::vector<int> outputs_;
  std::vector<row_scores> sampled_;
};

}  // namespace cogen::detail
