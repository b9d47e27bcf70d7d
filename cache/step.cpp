#include <cogen/detail/cache/step.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

std::string name_of(std::size_t row) { return "step: row " + std::to_string(row); }

void check_row(std::size_t number, const step_row& row) {
  if (row.slot < 0)
    throw std::invalid_argument(name_of(number) + " names slot " + std::to_string(row.slot) + ", the first one is 0");
  if (row.count < 1)
    throw std::invalid_argument(name_of(number) + " brings " + std::to_string(row.count) + " tokens to slot " +
                                std::to_string(row.slot) + ", it has to bring at least 1");
  if (row.drafts < 0 || row.drafts >= row.count)
    throw std::invalid_argument(name_of(number) + " has " + std::to_string(row.drafts) + " draft tokens among " +
                                std::to_string(row.count) + " of slot " + std::to_string(row.slot) +
                                ", there have to be at least 0 and fewer than those");
}

void check_differ(std::span<const int> slots) {
  const auto twice = std::adjacent_find(slots.begin(), slots.end());
  if (twice != slots.end())
    throw std::invalid_argument("step: slot " + std::to_string(*twice) + " has two rows, it may have one");
}

}  // namespace

step::step(std::vector<step_row> rows) : rows_(std::move(rows)) { number(); }

void step::assign(std::span<const step_row> rows) {
  rows_.assign(rows.begin(), rows.end());
  number();
}

void step::number() {
  first_.assign(1, 0);
  first_.reserve(rows_.size() + 1);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    check_row(i, rows_[i]);
    if (rows_[i].count > std::numeric_limits<int>::max() - first_.back())
      throw std::length_error(name_of(i) + " takes the step beyond 2147483647 tokens");
    first_.push_back(first_.back() + rows_[i].count);
  }
  slots_.clear();
  slots_.reserve(rows_.size());
  for (const step_row& row : rows_) slots_.push_back(row.slot);
  std::ranges::sort(slots_);
  check_differ(slots_);
}

}  // namespace cogen::cache
