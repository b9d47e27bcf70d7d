#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cogen::golden {

namespace {

void compare(verdict& so_far, const std::vector<float>& logits, const reference_row& reference) {
  for (std::size_t i = 0; i < reference.ids.size(); ++i) {
    const float difference = std::abs(logits[static_cast<std::size_t>(reference.ids[i])] - reference.logits[i]);
    if (!(difference <= so_far.worst)) so_far.worst = difference;
    if (std::isnan(difference)) so_far.bad_number = true;
  }
}

void compare_choice(verdict& so_far, const std::vector<float>& logits, token chosen, float margin, float tolerance) {
  const auto best = static_cast<token>(std::ranges::max_element(logits) - logits.begin());
  ++so_far.tokens;
  if (best == chosen) ++so_far.same_tokens;
  if (best != chosen && margin > 2 * tolerance) ++so_far.wrong_tokens;
}

/// How far the score of beam `index` is from those beside it.
float clearance(const std::vector<beam>& beams, std::size_t index) {
  float least = std::numeric_limits<float>::infinity();
  if (index > 0) least = beams[index - 1].score - beams[index].score;
  if (index + 1 < beams.size()) least = std::min(least, beams[index].score - beams[index + 1].score);
  return least;
}

void compare(verdict& so_far, const std::vector<beam>& found, const std::vector<beam>& reference, float tolerance) {
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const float difference = std::abs(found.at(i).score - reference[i].score);
    if (!(difference <= so_far.worst)) so_far.worst = difference;
    const bool same = found[i].ids == reference[i].ids;
    ++so_far.beams;
    if (same) ++so_far.same_beams;
    if (!same && clearance(reference, i) > 2 * tolerance) ++so_far.wrong_beams;
  }
}

/// The prompt with the beginning of its continuation: enough to show what chunks did to the cache.
reference_prompt beginning(const reference_prompt& prompt) {
  auto shorter = prompt;
  shorter.continuation.resize(std::min<std::size_t>(8, prompt.continuation.size()));
  shorter.rows.resize(std::min(shorter.continuation.size(), prompt.rows.size()));
  return shorter;
}

/// The prompt without the rows of its own tokens.
reference_prompt continuation_of(const reference_prompt& prompt) {
  auto steps = prompt;
  steps.prompt_rows.clear();
  return steps;
}

bool begins_with(const transcript& whole, const transcript& part) {
  return (part.prompt.empty() || whole.prompt == part.prompt) && part.steps.size() <= whole.steps.size() &&
         std::equal(part.steps.begin(), part.steps.end(), whole.steps.begin());
}

}  // namespace

verdict& verdict::operator+=(const verdict& other) {
  worst = std::max(worst, other.worst);
  tokens += other.tokens;
  same_tokens += other.same_tokens;
  wrong_tokens += other.wrong_tokens;
  beams += other.beams;
  same_beams += other.same_beams;
  wrong_beams += other.wrong_beams;
  bad_number |= other.bad_number;
  unlike_engine |= other.unlike_engine;
  changed.insert(changed.end(), other.changed.begin(), other.changed.end());
  return *this;
}

void compare(verdict& so_far, const transcript& came, const reference_prompt& reference, float tolerance) {
  for (std::size_t i = 0; i < reference.prompt_rows.size(); ++i) {
    compare(so_far, came.prompt.at(i), reference.prompt_rows[i]);
  }
  for (std::size_t i = 0; i < reference.rows.size(); ++i) {
    compare(so_far, came.steps.at(i), reference.rows[i]);
    compare_choice(so_far, came.steps[i], reference.continuation[i], reference.rows[i].margin(), tolerance);
  }
}

/// Of the layer for multi-token prediction. Chunks must give the same bits.
void judge_predictions(verdict& so_far, runner& run, const golden& reference) {
  for (std::size_t index = 0; index < reference.prompts.size(); ++index) {
    const auto& prompt = reference.prompts[index];
    if (prompt.predictions.empty()) continue;
    const auto came = run.predictions(prompt);
    for (std::size_t row = 0; row < prompt.predictions.size(); ++row)
      compare(so_far, came.at(row), prompt.predictions[row]);
    for (const int chunk : {1, 3, 7})
      if (run.predictions(prompt, chunk) != came)
        so_far.changed.push_back(fmt::format("predictions of prompt {} in chunks of {}", index, chunk));
  }
}

verdict judge(runner& run, const golden& reference, float tolerance) {
  verdict result;
  std::vector<transcript> alone;
  for (const auto& prompt : reference.prompts) {
    alone.push_back(run.alone(prompt));
    compare(result, alone.back(), prompt, tolerance);
    if (!prompt.beams.empty()) compare(result, run.beams(prompt), prompt.beams, tolerance);
  }
  const auto expect_same = [&](const transcript& came, std::size_t index, const reference_prompt& prompt,
                               const std::string& way) {
    compare(result, came, prompt, tolerance);
    if (!begins_with(alone[index], came)) result.changed.push_back(fmt::format("prompt {} {}", index, way));
  };
  for (std::size_t index = 0; index < alone.size(); ++index) {
    const auto& prompt = reference.prompts[index];
    const auto first = beginning(prompt);
    for (const int chunk : {1, 3, 7})
      expect_same(run.alone(first, chunk), index, first, fmt::format("in chunks of {}", chunk));
    expect_same(run.swapped_out(prompt), index, prompt, "swapped out and restored");
    if (run.mode() == compute_type::float32)
      expect_same(run.external_stepping(prompt), index, continuation_of(prompt), "by hand");
  }
  const auto together = run.together(reference.prompts);
  for (std::size_t index = 0; index < alone.size(); ++index)
    expect_same(together[index], index, reference.prompts[index], "in a batch");
  judge_predictions(result, run, reference);
  return result;
}

}  // namespace cogen::golden
