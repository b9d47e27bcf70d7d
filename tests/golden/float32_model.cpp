#include "float32_model.hpp"

#include "runs.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

namespace cogen::golden {

namespace {

std::vector<token> best_of(const std::vector<std::vector<float>>& rows) {
  std::vector<token> best;
  for (const auto& row : rows) best.push_back(static_cast<token>(std::ranges::max_element(row) - row.begin()));
  return best;
}

/// Each run makes one token more of the continuation the model's own.
transcript greedy_run(runner& run, reference_prompt& prompt) {
  for (;;) {
    auto came = run.alone(prompt);
    auto chosen = best_of(came.steps);
    if (chosen == prompt.continuation) return came;
    prompt.continuation = std::move(chosen);
  }
}

void take(std::vector<reference_row>& rows, const std::vector<std::vector<float>>& logits) {
  for (std::size_t index = 0; index < rows.size(); ++index) rows[index].logits = logits.at(index);
}

}  // namespace

std::optional<std::filesystem::path> float32_model_in(const std::filesystem::path& golden) {
  auto folder = golden / "float32";
  return std::filesystem::is_directory(folder) ? std::optional(std::move(folder)) : std::nullopt;
}

void take_from(const model& model, golden& reference) {
  runner run(model, {.type = cache::scalar::f32});
  for (auto& prompt : reference.prompts) {
    const auto came = greedy_run(run, prompt);
    take(prompt.prompt_rows, came.prompt);
    take(prompt.rows, came.steps);
    prompt.predictions.clear();
    prompt.beams.clear();
  }
}

}  // namespace cogen::golden
