#include "simulation/fairness.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cogen::scheduler::simulate {

void fairness::stays(std::uint64_t tenant, int tokens) {
  auto& longest = tenants_[tenant].longest;
  longest = std::max(longest, tokens);
}

void fairness::look(const std::set<std::uint64_t>& waiting) {
  std::erase_if(ahead_, [&](const auto& entry) {
    return !waiting.contains(entry.first.first) || !waiting.contains(entry.first.second);
  });
  for (const auto a : waiting)
    for (const auto b : waiting)
      if (a < b) compare(a, b);
}

void fairness::compare(std::uint64_t a, std::uint64_t b) {
  const auto &first = tenants_[a], &second = tenants_[b];
  const double ahead = first.had - second.had;
  auto& [low, high] = ahead_.try_emplace({a, b}, range{ahead, ahead}).first->second;
  low = std::min(low, ahead);
  high = std::max(high, ahead);
  if (high > low) seen_.visit(feature::shares_divided);
  const double bound = 2 * settings_.within.slots * (first.longest / weight(a) + second.longest / weight(b));
  if (high - low > bound * 1.000001)
    throw std::logic_error("tenants " + std::to_string(a) + " and " + std::to_string(b) + " are " +
                           std::to_string(high - low) + " apart; they may be " + std::to_string(bound));
}

}  // namespace cogen::scheduler::simulate
