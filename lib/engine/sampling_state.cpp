#include "engine/sampling_state.hpp"

#include "engine/runner/diagnostics_of.hpp"
#include "engine/runner/row_outputs.hpp"

#include <exception>
#include <utility>

namespace cogen::detail {
namespace {

row_output failed(const std::exception_ptr& why) noexcept { return {.error = diagnostics_of(why)}; }

/// The caller's own, after what the history holds now.
std::shared_ptr<const row_processor> processor_of(const std::shared_ptr<const sampler>& parameters,
                                                  const token_history& history) {
  return std::make_shared<row_processor>(
      [parameters, known = history.list()](std::span<const token> drafts, std::span<float> logits) {
        const auto& process = parameters->parameters().processor;
        if (drafts.empty()) return process(known, logits);
        std::vector<token> tokens(known.begin(), known.end());
        tokens.insert(tokens.end(), drafts.begin(), drafts.end());
        process(tokens, logits);
      });
}

}  // namespace

void sampling_state::fill(step& step, const scheduler::row& row) {
  auto& settings = step.add_row_sampling();
  try {
    if (row.scored) add_scores(row, step);
    if (row.wanted == scheduler::output::sample) {
      add_samples(row, step);
      settings.masks = constraint ? this : nullptr;
      settings.predicts = predicts;
      if (parameters->has_processor()) settings.processor = processor_of(parameters, history);
      return;
    }
  } catch (...) {
    settings.is_out_of_memory = true;
    step.sampling.samples.resize(settings.first);
  }
  step.pad_samples();
}

void sampling_state::add_scores(const scheduler::row& row, step& step) const {
  auto& lists = step.sampling.lists;
  const auto known = std::span(prompt).subspan(static_cast<std::size_t>(row.position + 1));
  const auto top = static_cast<std::uint32_t>(prompt_logprobs_);
  for (const auto& each : known.first(static_cast<std::size_t>(row.scores()))) {
    step.add_sample({.scored = each.id, .logprobs = sampled_logprobs::raw, .top = {lists.top_logprobs, top}});
    lists.top_logprobs += top;
  }
}

/// Of a chained row, only the device knows the token before the sampled one.
void sampling_state::add_samples(const scheduler::row& row, step& step) {
  const auto drafts = step.drafts_of(row);
  for (std::size_t i = 0; i <= drafts.size(); ++i) {
    auto& sample = step.add_sample(parameters->row());
    sample.key = key_after(i + (row.chained ? 1 : 0));
    parameters->complete(sample, history, row.chained, drafts.first(i), step.sampling.lists);
  }
}

token_mask sampling_state::mask_after(std::span<const token> drafts) {
  const guide_allowance::share brief(allowance_);
  return constraint->mask_after(history.tokens(), drafts);
}

row_output sampling_state::follow(row_output output, std::span<const token> drafts) noexcept try {
  if (!follows()) return output;
  std::vector<token> sampled(drafts.begin(), drafts.end());
  sampled.push_back(output.chosen.id);
  try {
    const guide_allowance::share brief(allowance_);
    find_end(output, sampled);
  } catch (const guide_postponed& late) {
    if (!drafts.empty()) return {.error = {error::callback_threw, late.what()}};
    output.late = true;
  }
  return output;
} catch (...) {
  return failed(std::current_exception());
}

void sampling_state::find_end(row_output& output, std::span<const token> sampled) {
  output.ends_text = !constraint->is_end(sampled.back()) && constraint->is_over_after(history.tokens(), sampled);
}

void sampling_state::take_scores(int first, std::span<row_output> scores) noexcept {
  for (auto& each : scores) {
    auto& known = prompt[static_cast<std::size_t>(++first)];
    known.logprob = each.chosen.logprob;
    known.top = std::move(each.chosen.top);
  }
}

std::vector<token> sampling_state::forced() try {
  const guide_allowance::share brief(allowance_);
  return constraint ? constraint->forced_after(history.tokens()) : std::vector<token>();
} catch (const guide_postponed&) {
  return {};
}

std::size_t sampling_state::allowed_of(std::span<const token> drafts) {
  const guide_allowance::share brief(allowance_);
  return constraint ? constraint->allowed_of(drafts, history.tokens()) : drafts.size();
}

/// Without a sample yet where it has scores. Those that a processor changes are sampled by take_late().
void sampling_state::sample_late() noexcept try {
  if (late_.scores.rows() > 0 && parameters->has_processor()) {
    constraint->mask_after(history.tokens());
    return;
  }
  if (late_.scores.rows() > 0) late_ = sample(late_.scores);
  late_.late = false;
  if (follows() && !late_.error) find_end(late_, {&late_.chosen.id, 1});
} catch (const guide_postponed& thrown) {
  late_ = {.error = {error::callback_threw, thrown.what()}};
} catch (...) {
  late_ = failed(std::current_exception());
}

row_output sampling_state::take_late() noexcept try {
  auto output = std::exchange(late_, {});
  if (output.scores.rows() == 0) return output;
  try {
    const guide_allowance::share brief(allowance_);
    output = sample(output.scores);
  } catch (const guide_postponed&) {
    return output;
  }
  return output.error ? output : follow(std::move(output), {});
} catch (...) {
  return failed(std::current_exception());
}

row_output sampling_state::sample(const logits& scores) {
  const auto last = scores.last();
  std::vector<float> changed(last.begin(), last.end());
  sampling_scratch scratch;
  const auto mask = constraint ? constraint->mask_after(history.tokens()) : token_mask();
  return output_of(parameters->sample(changed, history, key_after(0), scratch, mask));
}

void sampling_state::truncate(std::size_t length) {
  history.truncate(length);
  if (constraint) constraint->truncate(length);
}

void sampling_state::report(std::span<const token> ids, int logprobs) {
  prompt_logprobs_ = static_cast<std::size_t>(logprobs);
  prompt.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) prompt[i].id = ids[i];
}

sampling_key sampling_state::key_after(std::size_t tokens) const {
  return {.seed = parameters->parameters().seed.value_or(random.seed()),
          .branch = random.branch(),
          .position = static_cast<std::uint32_t>(history.length() + tokens),
          .sample = truncations};
}

}  // namespace cogen::detail
