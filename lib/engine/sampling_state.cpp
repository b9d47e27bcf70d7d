#include "engine/sampling_state.hpp"

#include "runner/diagnostics_of.hpp"

#include <utility>

namespace cogen {
namespace {

row_output outcome_of(sampled chosen) {
  row_output outcome;
  switch (chosen.status) {
    case sampling_status::ok:
      outcome.chosen = {chosen.id, chosen.logprob, std::move(chosen.top)};
      break;
    case sampling_status::processor_failed:
      outcome.error = diagnostics(error::callback_threw, chosen.message);
      break;
    case sampling_status::not_finite:
    case sampling_status::nothing_left:
      outcome.error = diagnostics(error::bad_logits, chosen.message);
      break;
  }
  return outcome;
}

/// After draft tokens that the row does without.
row_output no_sample() { return {.error = {error::callback_threw, "the guide takes longer than a step may wait"}}; }

sampling_scratch& scratch_of_thread() {
  thread_local sampling_scratch scratch;
  return scratch;
}

}  // namespace

diagnostics row_sampler::score_prompt(std::span<const float> /*scores*/, int /*index*/) noexcept { return {}; }

void row_sampler::describe_prompt(int /*index*/, sampling_row& /*row*/, sampling_lists& /*lists*/) {}

void row_sampler::set_prompt_score(int /*index*/, sampled_token /*scored*/) noexcept {}

bool row_sampler::describe(bool /*chained*/, sampling_row& /*row*/, sampling_lists& /*lists*/,
                           std::span<const token> /*drafts*/) {
  return false;
}

row_output device_outcome(sampling_status status, sampled_token chosen) noexcept try {
  auto outcome = outcome_of({.status = status,
                             .id = chosen.id,
                             .logprob = chosen.logprob,
                             .top = std::move(chosen.top),
                             .message = explain(status)});
  outcome.by_device = true;
  return outcome;
} catch (...) {
  return {detail::diagnostics_of(std::current_exception()), {}, {}, true};
}

namespace detail {

row_output sampling_state::sample(std::span<float> scores, std::span<const token> drafts) noexcept try {
  std::optional<row_output> chosen;
  try {
    const guide_allowance::share brief(allowance_);
    return sample(scores, drafts, chosen);
  } catch (const guide_postponed&) {
    if (!drafts.empty()) return no_sample();
    return put_off(scores, std::move(chosen));
  }
} catch (...) {
  return {diagnostics_of(std::current_exception()), {}, {}};
}

row_output sampling_state::sample(std::span<float> scores, std::span<const token> drafts,
                                  std::optional<row_output>& chosen) {
  if (!runs_ahead_ && !drafts.empty()) {
    auto assumed = history.with_generated(drafts);
    const auto mask = mask_after(assumed.tokens());
    return outcome_of(parameters->sample(scores, assumed, key_after(drafts.size()), scratch_of_thread(), mask));
  }
  const auto mask = mask_after(history.tokens());
  chosen = outcome_of(parameters->sample(scores, history, key_after(0), scratch_of_thread(), mask));
  if (runs_ahead_ && !chosen->error) append(*chosen);
  return *std::move(chosen);
}

row_output sampling_state::put_off(std::span<const float> scores, std::optional<row_output> chosen) {
  late_.chosen = std::move(chosen);
  if (!late_.chosen && scores.data() != late_.scores.data()) late_.scores.assign(scores.begin(), scores.end());
  return {.late = true};
}

row_output sampling_state::follow_device(row_output outcome, bool may_be_late) noexcept try {
  outcome.by_device = false;
  try {
    const guide_allowance::share brief(allowance_);
    append(outcome);
    return outcome;
  } catch (const guide_postponed&) {
    return may_be_late ? put_off({}, std::move(outcome)) : no_sample();
  }
} catch (...) {
  return {diagnostics_of(std::current_exception()), {}, {}};
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

void sampling_state::sample_late() noexcept try {
  auto& chosen = late_.chosen;
  if (chosen)
    append(*chosen);
  else if (has_processor())
    mask_after(history.tokens());
  else
    chosen = sample(late_.scores, {}, chosen);
} catch (const guide_postponed& thrown) {
  late_.chosen = row_output{.error = {error::callback_threw, thrown.what()}};
} catch (...) {
  late_.chosen = row_output{.error = diagnostics_of(std::current_exception())};
}

row_output sampling_state::take_late() noexcept {
  auto chosen = std::exchange(late_.chosen, std::nullopt);
  return chosen ? *std::move(chosen) : sample(late_.scores);
}

/// Appends nothing where the guide fails, so that an earlier token of a row with drafts may be the last.
void sampling_state::append(row_output& outcome) {
  const auto sampled = outcome.chosen.id;
  history.append_generated(sampled);
  if (!constraint || !runs_ahead_ || constraint->is_end(sampled)) return;
  try {
    outcome.ends_text = constraint->is_over_after(history.tokens());
  } catch (...) {
    truncate(history.length() - 1);
    throw;
  }
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

diagnostics sampling_state::score_prompt(std::span<const float> scores, int index) noexcept try {
  auto& next = prompt.at(static_cast<std::size_t>(index) + 1);
  auto outcome = outcome_of(logprobs_of(scores, next.id, prompt_logprobs_, scratch_of_thread()));
  if (!outcome.error) next = std::move(outcome.chosen);
  return outcome.error;
} catch (...) {
  return diagnostics_of(std::current_exception());
}

void sampling_state::describe_prompt(int index, sampling_row& row, sampling_lists& lists) {
  row.scored = prompt.at(static_cast<std::size_t>(index) + 1).id;
  row.logprobs = sampled_logprobs::raw;
  row.top = {lists.top_logprobs, static_cast<std::uint32_t>(prompt_logprobs_)};
  lists.top_logprobs += row.top.count;
}

void sampling_state::set_prompt_score(int index, sampled_token scored) noexcept {
  prompt[static_cast<std::size_t>(index) + 1] = std::move(scored);
}

bool sampling_state::describe(bool chained, sampling_row& row, sampling_lists& lists,
                              std::span<const token> drafts) try {
  const guide_allowance::share brief(allowance_);
  if (!parameters->describe(row, lists, history, chained, mask_after(history.tokens(), drafts), drafts)) return false;
  const auto key = key_after(drafts.size() + (chained ? 1 : 0));
  row.seed = key.seed;
  row.branch = key.branch;
  row.position = key.position;
  row.sample = key.sample;
  return true;
} catch (const guide_postponed& late) {
  if (drafts.empty()) return false;
  throw generation_error({error::callback_threw, late.what()});
}

sampling_key sampling_state::key_after(std::size_t tokens) const {
  return {.seed = parameters->parameters().seed.value_or(random.seed()),
          .branch = random.branch(),
          .position = static_cast<std::uint32_t>(history.length() + tokens),
          .sample = truncations};
}

}  // namespace detail
}  // namespace cogen
