#include "runner/row_outputs.hpp"

#include "runner/diagnostics_of.hpp"

#include <exception>
#include <utility>

namespace cogen::detail {

row_output logits_output(std::span<const float> scores, int vocabulary) noexcept try {
  return {.scores = logits({scores.begin(), scores.end()}, vocabulary)};
} catch (...) {
  return {.error = diagnostics_of(std::current_exception())};
}

void sample_row(step& step, std::size_t row, std::span<float> scores) noexcept {
  auto& sampler = step.sampler_of(row);
  const auto drafts = step.drafts_of(step.rows[row]);
  const auto vocabulary = scores.size() / (drafts.size() + 1);
  step.set_output(row, sampler.sample(scores.first(vocabulary)));
  if (step.rows[row].failed) return;
  token sampled = step.rows[row].sampled;
  for (std::size_t i = 0; i < drafts.size() && drafts[i] == sampled; ++i) {
    auto output = sampler.sample(scores.subspan((i + 1) * vocabulary, vocabulary), drafts.first(i + 1));
    sampled = output.error ? -1 : output.chosen.id;
    step.set_output_after(row, static_cast<int>(i), std::move(output));
  }
}

}  // namespace cogen::detail
