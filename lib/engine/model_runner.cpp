#include "engine/model_runner.hpp"

#include "engine/diagnostics_of.hpp"
#include "engine/slot_forks.hpp"
#include "kernels/worker_pool.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <typeinfo>

namespace cogen::detail {

namespace {

std::string_view name_of(cache::scalar type) {
  switch (type) {
    case cache::scalar::f32:
      return "f32";
    case cache::scalar::f16:
      return "f16";
    case cache::scalar::bf16:
      return "bf16";
    case cache::scalar::fp8:
      return "fp8";
  }
  return "";
}

std::string format_of(const cache::quantization& how) {
  return fmt::format(", keys {}, values {}, the newest {} whole", how.keys->name(), how.values->name(), how.residual);
}

/// A copy of the logits. Fails the row if memory is short.
row_output output_of(std::span<const float> scores, int vocabulary) noexcept try {
  return {.scores = logits({scores.begin(), scores.end()}, vocabulary)};
} catch (...) {
  return {.error = diagnostics_of(std::current_exception())};
}

std::string_view format_of(compute_type mode) { return mode == compute_type::int8 ? ", int8 products" : ""; }

/// Everything, except the model and its compute type, that determines the bytes of a slot.
std::string format_of(const cache::options& options, const cache::cache& cache, bool layer_factory) {
  auto text = std::string(name_of(options.type));
  if (options.kv_quantization) text += format_of(*options.kv_quantization);
  if (options.sinks) text += fmt::format(", {} sinks and a window of {}", options.sinks->sinks, options.sinks->window);
  if (options.kv_offload) text += ", offloaded";
  if (cache.longest_step() < std::numeric_limits<int>::max())
    text +=
        fmt::format(", rings for steps of {} and a rollback of {}", options.longest_step, options.max_rollback_tokens);
  if (layer_factory)
    for (int index = 0; index < cache.layers(); ++index) {
      const auto& layer = cache.layer(index);
      text += fmt::format(", {}", typeid(layer).name());
    }
  return text;
}

}  // namespace

model_runner::model_runner(std::shared_ptr<const model> model, const cache::options& options,
                           const cache::layer_factory& own, std::shared_ptr<cache::transfer> swap_by, swap_room room,
                           workspace run)
    : model_(std::move(model)),
      cache_(model_->make_cache(options, own)),
      snapshot_format_(fmt::format("{}{}", format_of(options, cache_, own != nullptr), format_of(run.compute_type()))),
      swapped_(cache_, std::move(swap_by), std::move(room)),
      workspace_(std::move(run)) {}

void model_runner::launch(step& step) {
  prepare_slots(step);
  begin_swaps(step);
  if (!step.rows.empty()) {
    read_encoder_inputs(step);
    auto scores = model_->forward(collect(step), cache_, workspace_);
    set_outputs(step, outputs_.empty() ? nullptr : scores.data_ptr<float>());
  }
  step.done();
}

void model_runner::begin_swaps(step& step) {
  for (const auto& each : step.swap_outs) swapped_.begin(each, step.swaps());
  for (const auto& each : step.swap_ins) swapped_.begin(each, step.swaps());
}

void model_runner::prepare_slots(const scheduler::step& step) {
  swapped_.clear_lost();
  for (const auto name : step.drops) swapped_.drop(name);
  for (const int slot : step.clears) cache_.clear(slot);
  for (const auto& each : step.truncations) {
    if (each.length == 0)
      cache_.clear(each.slot);
    else
      cache_.truncate(each.slot, each.length);
  }
  for (const auto& each : step.releases) cache_.release(each.slot, each.length);
  for (const auto& each : forks_in(step)) cache_.fork(each.slot, each.origin);
}

void model_runner::read_encoder_inputs(const scheduler::step& step) {
  std::vector<cache::step_row> rows;
  std::vector<token> tokens;
  for (const auto& row : step.rows) {
    if (!row.encoder_input) continue;
    rows.push_back({row.slot, static_cast<int>(row.encoder_input->size())});
    tokens.insert(tokens.end(), row.encoder_input->begin(), row.encoder_input->end());
  }
  if (!rows.empty()) model_->encode({cache::step(std::move(rows)), tokens}, cache_, workspace_);
}

/// No row is chained, because each step ends before the next one is planned.
const batch& model_runner::collect(const scheduler::step& step) {
  rows_.clear();
  outputs_.clear();
  for (const auto& row : step.rows) {
    rows_.push_back({row.slot, row.count});
    const int last = row.first + row.count - 1;
    if (row.wanted == scheduler::output::all_logits)
      for (int i = row.first; i < last; ++i) outputs_.push_back(i);
    if (row.wanted != scheduler::output::nothing) outputs_.push_back(last);
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
  for (std::size_t i = 0; i < rows.size(); ++i) {
    switch (rows[i].wanted) {
      case scheduler::output::nothing:
        continue;
      case scheduler::output::sample:
        sampled_.push_back({i, scores});
        scores += width;
        continue;
      case scheduler::output::last_logits:
      case scheduler::output::all_logits: {
        const auto count =
            rows[i].wanted == scheduler::output::all_logits ? static_cast<std::size_t>(rows[i].count) : 1;
        step.set_output(i, output_of({scores, count * width}, vocabulary()));
        scores += count * width;
      }
    }
  }
  sample(step);
}

/// Samples the rows in parallel; then, on this thread, those with the caller's own logits processor.
void model_runner::sample(step& step) {
  const auto width = static_cast<std::size_t>(vocabulary());
  const auto sample_where = [&](const row_scores& each, bool processed) {
    auto& sampler = step.sampler_of(each.row);
    if (sampler.has_processor() != processed) return;
    step.set_output(each.row, sampler.sample({each.scores, width}));
  };
  workspace_.workers()->parallel(
      std::ssize(sampled_), [&](std::int64_t i, int) { sample_where(sampled_[static_cast<std::size_t>(i)], false); });
  for (const auto& each : sampled_) sample_where(each, true);
}

}  // namespace cogen::detail
