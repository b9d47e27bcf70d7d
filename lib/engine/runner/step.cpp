#include "engine/runner/diagnostics_of.hpp"
#include "engine/runner/row_outputs.hpp"
#include "sampling/sample.hpp"

#include <cogen/extend/runner.hpp>
#include <cogen/guide.hpp>

#include <exception>
#include <functional>
#include <utility>

namespace cogen {
namespace {

sampling_scratch& scratch_of_thread() {
  thread_local sampling_scratch scratch;
  return scratch;
}

/// Where a guide takes too long: the row is sampled later, unless it can do without the sample.
row_output put_off(std::span<const float> scores, bool may_be_late) {
  if (!may_be_late) return {.error = {error::callback_threw, guide_postponed().what()}};
  return {.scores = logits({scores.begin(), scores.end()}, static_cast<int>(scores.size())), .late = true};
}

row_output sample_after(const sampling_batch& batch, const row_sampling& row, const sampling_row& sample,
                        std::span<float> scores, std::span<const token> drafts) noexcept try {
  if (row.is_out_of_memory) return {.error = error::out_of_memory};
  token_mask mask;
  try {
    if (row.masks) mask = row.masks->mask_after(drafts);
  } catch (const guide_postponed&) {
    return put_off(scores, drafts.empty());
  }
  std::function<void(std::span<float>)> processor;
  if (row.processor) processor = [&](std::span<float> logits) { (*row.processor)(drafts, logits); };
  return detail::output_of(cogen::sample({sample, batch.lists, processor, mask}, scores, scratch_of_thread()));
} catch (...) {
  return {.error = detail::diagnostics_of(std::current_exception())};
}

}  // namespace

void step::pad_samples() {
  const auto& row = rows[sampling.rows.size() - 1];
  const int wanted = row.wanted == scheduler::output::sample ? 1 + row.drafts : 1;
  const auto end = sampling.rows.back().first + static_cast<std::size_t>(row.scores() + wanted);
  sampling.samples.resize(end);
  outputs_.resize(end);
}

void step::sample(std::size_t row, std::span<float> scores) noexcept {
  if (!check_scores(row)) return;
  const auto& settings = sampling.rows[row];
  const auto drafts = drafts_of(rows[row]);
  const auto vocabulary = scores.size() / (drafts.size() + 1);
  for (std::size_t i = 0; i <= drafts.size(); ++i) {
    const auto& sample = sampling.samples[sample_of(row, rows[row].scores()) + i];
    set_output(row,
               sample_after(sampling, settings, sample, scores.subspan(i * vocabulary, vocabulary), drafts.first(i)),
               static_cast<int>(i));
    if (i == drafts.size() || sampled_after(row, static_cast<int>(i)) != drafts[i]) return;
  }
}

void step::score(std::size_t row, int index, std::span<const float> scores) noexcept try {
  const auto& known = sampling.samples[sample_of(row, index)];
  auto output = detail::output_of(logprobs_of(scores, known.scored, known.top.count, scratch_of_thread()));
  if (sampling.rows[row].is_out_of_memory) output.error = error::out_of_memory;
  set_score(row, index, std::move(output));
} catch (...) {
  set_score(row, index, {.error = detail::diagnostics_of(std::current_exception())});
}

void step::set_score(std::size_t row, int index, row_output scored) noexcept {
  outputs_[sample_of(row, index)] = std::move(scored);
}

void step::set_output(std::size_t row, row_output output, int drafts) noexcept {
  auto& planned = rows[row];
  if (drafts == 0) {
    planned.failed = static_cast<bool>(output.error);
    planned.late = output.late;
  }
  if (planned.wanted == scheduler::output::sample)
    sampled_of(planned, drafts) = output.error || output.late ? -1 : output.chosen.id;
  output_of(row, drafts) = std::move(output);
}

bool step::check_scores(std::size_t row) noexcept {
  for (const auto& each : scores_of(row))
    if (each.error && !rows[row].failed) set_output(row, {.error = each.error});
  return !rows[row].failed;
}

int step::accepted_drafts(std::size_t row) const noexcept {
  const auto drafts = drafts_of(rows[row]);
  int accepted = 0;
  while (accepted < rows[row].drafts && drafts[static_cast<std::size_t>(accepted)] == sampled_after(row, accepted))
    ++accepted;
  return accepted;
}

void step::clear() noexcept {
  scheduler::step::clear();
  sampling.clear();
  outputs_.clear();
  error_ = nullptr;
  done_.store(false);
}

}  // namespace cogen
