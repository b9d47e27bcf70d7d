#include "engine/runner/model_runner.hpp"

#include "engine/runner/row_outputs.hpp"
#include "network/kernels/worker_pool.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace cogen::detail {

model_runner::model_runner(std::shared_ptr<const model> model, std::shared_ptr<cpu_slots> slots,
                           std::string snapshot_format, swap_room room, workspace run)
    : caching_runner(slots, std::move(snapshot_format), std::move(room)),
      model_(std::move(model)),
      slots_(std::move(slots)),
      workspace_(std::move(run)) {}

void model_runner::launch(step& step) {
  prepare_slots(step);
  if (step.rows.empty()) return step.done();
  read_encoder_inputs(step);
  if (model_->awaits_logits()) return begin(step);
  run(step);
  step.done();
}

void model_runner::run(step& step) {
  if (model_->predicts_tokens()) return run_and_predict(step);
  auto scores = model_->forward(collect(step), slots_->kv, workspace_);
  if (model_->rank() == 0) set_outputs(step, outputs_.empty() ? nullptr : scores.data);
}

/// While the last stage computes the step's logits, the next one can be launched. The logits of the step before have
/// come when this one's rows have gone.
void model_runner::begin(step& step) {
  auto logits = model_->begin_forward(collect(step), slots_->kv, workspace_);
  const bool has_logits = !outputs_.empty();
  finish_launched();
  launched_.emplace(&step, std::move(logits));
  if (!has_logits) finish();
}

/// The error of a step is not that of the one after it alone.
void model_runner::finish_launched() try { finish(); } catch (...) {
  std::exchange(launched_, std::nullopt)->current->done(std::current_exception());
  throw;
}

void model_runner::finish() {
  if (!launched_) return;
  const auto scores = launched_->logits.wait();
  set_outputs(*launched_->current, scores.rows() == 0 ? nullptr : scores.view().data);
  std::exchange(launched_, std::nullopt)->current->done();
}

void model_runner::run_and_predict(step& step) {
  const auto predicted = model_->forward(collect(step), slots_->kv, workspace_, [&](const matrix_view& scores) {
    set_outputs(step, outputs_.empty() ? nullptr : scores.data);
    return follow(step);
  });
  set_predictions(step, predicted);
}

/// The tokens behind those of the rows, and which of them are wanted to be predicted from: the last ones sampled.
next_tokens model_runner::follow(step& step) {
  next_.assign(step.tokens.begin(), step.tokens.end());
  predicted_.clear();
  predictions_.clear();
  for (std::size_t i = 0; i < step.rows.size(); ++i) {
    const auto& row = step.rows[i];
    const bool samples = row.wanted == scheduler::output::sample;
    const int accepted = samples ? step.accepted_drafts(i) : 0;
    const int last = row.first + row.count - 1 - (samples ? row.drafts - accepted : 0);
    const auto first = next_.begin() + row.first;
    std::shift_left(first, first + row.count, 1);
    const token next = samples ? step.sampled_after(i, accepted) : row.next;
    if (next >= 0) next_[static_cast<std::size_t>(last)] = next;
    if (!samples || next < 0 || !step.sampling.rows[i].predicts) continue;
    predicted_.push_back(last);
    predictions_.push_back({.row = i, .drafts = accepted});
  }
  return {.tokens = next_, .outputs = predicted_};
}

void model_runner::set_predictions(step& step, const matrix_view& scores) {
  const auto* row = predictions_.empty() ? nullptr : scores.data;
  for (const auto& each : predictions_) {
    step.set_prediction(each.row, each.drafts, static_cast<token>(std::max_element(row, row + vocabulary()) - row));
    row += vocabulary();
  }
}

void model_runner::read_encoder_inputs(const scheduler::step& step) {
  std::vector<cache::step_row> rows;
  std::vector<token> tokens;
  for (const auto& row : step.rows) {
    if (!row.encoder_input) continue;
    rows.push_back({row.slot, static_cast<int>(row.encoder_input->size())});
    tokens.insert(tokens.end(), row.encoder_input->begin(), row.encoder_input->end());
  }
  if (!rows.empty()) model_->encode({cache::step(std::move(rows)), tokens}, slots_->kv, workspace_);
}

/// No row is chained: where steps overlap, rows do not run ahead.
const batch& model_runner::collect(const scheduler::step& step) {
  rows_.clear();
  outputs_.clear();
  for (const auto& row : step.rows) {
    rows_.push_back({row.slot, row.count, row.drafts});
    const int end = row.first + row.count;
    for (int i = end - row.outputs(); i < end; ++i) outputs_.push_back(i);
  }
  batch_.step.assign(rows_);
  batch_.tokens = step.tokens;
  batch_.outputs = outputs_;
  return batch_;
}

void model_runner::set_outputs(step& step, float* scores) {
  const auto width = static_cast<std::size_t>(vocabulary());
  const auto& rows = step.rows;
  sampled_.clear();
  scored_.clear();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].scored) scores = add_scored(step, i, scores);
    switch (rows[i].wanted) {
      case scheduler::output::nothing:
        continue;
      case scheduler::output::sample:
        sampled_.push_back({i, scores});
        scores += width * static_cast<std::size_t>(1 + rows[i].drafts);
        continue;
      case scheduler::output::last_logits:
      case scheduler::output::all_logits: {
        const auto count =
            rows[i].wanted == scheduler::output::all_logits ? static_cast<std::size_t>(rows[i].count) : 1;
        step.set_output(i, logits_output({scores, count * width}, vocabulary()));
        scores += count * width;
      }
    }
  }
  if (!scored_.empty()) score_prompts(step);
  sample(step);
}

/// Lists the tokens of the row that are to be scored. Returns the scores after theirs.
float* model_runner::add_scored(const step& step, std::size_t row, float* scores) {
  const auto& planned = step.rows[row];
  for (int i = 0; i < planned.scores(); ++i, scores += vocabulary())
    scored_.push_back({.row = row, .index = i, .scores = scores});
  return scores;
}

/// Scores tokens in parallel.
void model_runner::score_prompts(step& step) {
  const auto width = static_cast<std::size_t>(vocabulary());
  workspace_.workers()->parallel(std::ssize(scored_), [&](std::int64_t i, int) {
    const auto& item = scored_[static_cast<std::size_t>(i)];
    step.score(item.row, item.index, {item.scores, width});
  });
}

/// Samples the rows in parallel; then, on this thread, those with the caller's own logits processor.
void model_runner::sample(step& step) {
  const auto width = static_cast<std::size_t>(vocabulary());
  const auto sample_where = [&](const row_scores& item, bool processed) {
    if (static_cast<bool>(step.sampling.rows[item.row].processor) != processed) return;
    step.sample(item.row, {item.scores, width * static_cast<std::size_t>(1 + step.rows[item.row].drafts)});
  };
  workspace_.workers()->parallel(
      std::ssize(sampled_), [&](std::int64_t i, int) { sample_where(sampled_[static_cast<std::size_t>(i)], false); });
  for (const auto& each : sampled_) sample_where(each, true);
}

}  // namespace cogen::detail
