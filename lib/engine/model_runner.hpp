#pragma once

#include "engine/spill_store.hpp"

#include <cogen/model.hpp>
#include <cogen/runner.hpp>

#include <memory>
#include <vector>

namespace cogen::detail {

/// Runs plans on a model and its cache, on the thread that launches them: a step has ended when `launch()` returns.
class model_runner final : public runner {
 public:
  /// The layers of the cache are the options', or those that `own` makes. Without a transfer to spill by, a thread of
  /// its own does that.
  model_runner(std::shared_ptr<const model> model, const cache::options& options, const cache::layer_factory& own,
               std::shared_ptr<cache::transfer> spill_by, spill_room room, workspace run);

  int vocabulary() const override { return model_->config().vocabulary; }
  void launch(step_run& step) override;
  std::string image_format() const override { return image_format_; }
  std::shared_ptr<const slot_image> image(scheduler::ticket name) const override { return spilled_.image(name); }
  void keep(scheduler::ticket name, std::shared_ptr<const slot_image> what) override {
    spilled_.keep(name, std::move(what));
  }
  std::shared_ptr<const slot_image> make_image(std::vector<std::byte> bytes, int source) const override {
    return std::make_shared<stored_image>(bytes, source);
  }

  const cache::cache& cache() const { return cache_; }

 private:
  void prepare_slots(const scheduler::plan& plan);
  void begin_transfers(step_run& step);
  void read_sources(const scheduler::plan& plan);
  const batch& collect(const scheduler::plan& plan);
  void hand_out(step_run& step, float* scores);

  const std::shared_ptr<const model> model_;
  cache::cache cache_;
  const std::string image_format_;
  spill_store spilled_;
  workspace workspace_;
  batch batch_;  // of the last plan, as the two below
  std::vector<cache::step_row> rows_;
  std::vector<int> outputs_;
};

}  // namespace cogen::detail
