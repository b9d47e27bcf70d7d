#include "simulation/toy_model.hpp"

#include <utility>

namespace cogen::scheduler::toy {

token model::next(std::span<const token> before) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const token each : before) {
    hash = (hash ^ static_cast<std::uint64_t>(each + 1)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return static_cast<token>(hash % static_cast<std::uint64_t>(vocabulary));
}

std::vector<row_result> runner::run(const plan& step) {
  cache_.apply(step);
  contents_.clear();
  std::vector<row_result> results(step.rows.size());
  const auto before = std::exchange(sampled_, {});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& row = step.rows[i];
    cache_.append(row.slot, row.chained ? std::vector{before.at(row.sequence)} : row.tokens);
    contents_.push_back(cache_.content(row.slot));
    if (row.wanted == output::sample) sampled_[row.sequence] = results[i].sampled = model_.next(contents_.back());
  }
  return results;
}

}  // namespace cogen::scheduler::toy
