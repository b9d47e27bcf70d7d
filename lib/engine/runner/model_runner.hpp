#pragma once

#include "engine/runner/caching_runner.hpp"
#include "engine/snapshot/cpu_slots.hpp"
#include "network/model/pending_logits.hpp"

#include <cogen/model.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace cogen::detail {

/// Executes steps on a model and its cache, on the thread that launches them. A step has ended when launch() returns;
/// but where the last stage of a pipeline computes its logits, when the next one is launched, or by finish().
class model_runner final : public caching_runner {
 public:
  /// The slots are of the model's layers. On a rank that is not the first, steps have no samplers: nothing is sampled.
  model_runner(std::shared_ptr<const model> model, std::shared_ptr<cpu_slots> slots, std::string snapshot_format,
               swap_room room, workspace run);

  int vocabulary() const override { return model_->config().vocabulary; }
  void launch(step& step) override;
  void finish() override;

 private:
  struct row_scores {
    std::size_t row;
    float* scores;  // [1 + drafts, vocabulary]
  };

  struct token_scores {
    std::size_t row;
    int index;  // of the token, in its row
    const float* scores;
  };

  struct prediction {
    std::size_t row;
    int drafts;  // after how many of the row's
  };

  struct launched_step {
    step* current;
    nn::pending_logits logits;
  };

  void run(step& step);
  void begin(step& step);
  void finish_launched();
  void run_and_predict(step& step);
  next_tokens follow(step& step);
  void set_predictions(step& step, const matrix_view& scores);
  void read_encoder_inputs(const scheduler::step& step);
  const batch& collect(const scheduler::step& step);
  void set_outputs(step& step, float* scores);
  float* add_scored(const step& step, std::size_t row, float* scores);
  void score_prompts(step& step);
  void sample(step& step);

  const std::shared_ptr<const model> model_;
  const std::shared_ptr<cpu_slots> slots_;
  workspace workspace_;
  std::optional<launched_step> launched_;
  batch batch_;  // of the last step, like all below
  std::vector<cache::step_row> rows_;
  std::vector<int> outputs_;
  std::vector<row_scores> sampled_;
  std::vector<token_scores> scored_;
  std::vector<token> next_;  // of models with multi-token prediction
  std::vector<int> predicted_;
  std::vector<prediction> predictions_;
};

}  // namespace cogen::detail
