#include "simulation/toy_model.hpp"

#include <utility>

namespace cogen::scheduler::toy {

token model::next(std::span<const token> history, std::span<const token> encoder_input) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto take_in = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (const token each : encoder_input) take_in(static_cast<std::uint64_t>(name(each) + 1) << 32);
  for (const token each : history) take_in(static_cast<std::uint64_t>(name(each) + 1));
  return name(static_cast<token>(hash % static_cast<std::uint64_t>(vocabulary)));
}

void runner::run(step& step) {
  cache_.apply(step);
  contents_.clear();
  encoder_inputs_.clear();
  const auto previous = std::exchange(sampled_, {});
  for (auto& row : step.rows) {
    if (row.encoder_input) cache_.read(row.slot, *row.encoder_input);
    cache_.append(row.slot, row.chained ? std::span(&previous.at(row.sequence), 1) : step.tokens_of(row), row.drafts);
    contents_.push_back(cache_.content(row.slot));
    encoder_inputs_.push_back(cache_.encoder_input(row.slot));
    if (row.wanted == output::sample) sample(step, row);
  }
}

/// After the tokens before its drafts, and after each of those.
void runner::sample(step& step, row& row) {
  const std::span content(contents_.back());
  const auto known = content.size() - static_cast<std::size_t>(row.drafts);
  const model says{model_.vocabulary, reversed_.contains(row.sequence)};
  for (int i = 0; i <= row.drafts; ++i)
    step.sampled_of(row, i) = says.next(content.first(known + static_cast<std::size_t>(i)), encoder_inputs_.back());
  sampled_[row.sequence] = step.sampled_of(row);
}

}  // namespace cogen::scheduler::toy
