#include "network/model/batch_parts.hpp"

#include <algorithm>

namespace cogen::nn {
namespace {

/// The outputs of the whole batch that lie in [begin, end), added as those of a part whose row begins at `first`.
void add_outputs(const batch& whole, int begin, int end, int first, batch_part& part) {
  const auto first_output = std::ranges::lower_bound(whole.outputs, begin);
  for (auto output = first_output; output != whole.outputs.end() && *output < end; ++output) {
    part.outputs.push_back(first + *output - begin);
    part.places.push_back(static_cast<int>(output - whole.outputs.begin()));
  }
}

batch_part part_from(const batch& whole, int done, int longest) {
  batch_part part;
  std::vector<cache::step_row> rows;
  for (std::size_t i = 0; i < whole.step.rows().size(); ++i) {
    const auto& row = whole.step.rows()[i];
    const int count = std::min(row.count - done, longest);
    if (count <= 0) continue;
    const int begin = whole.step.first(static_cast<int>(i)) + done;
    add_outputs(whole, begin, begin + count, static_cast<int>(part.tokens.size()), part);
    part.tokens.insert(part.tokens.end(), whole.tokens.begin() + begin, whole.tokens.begin() + begin + count);
    const bool is_last = done + count == row.count;
    rows.push_back({.slot = row.slot, .count = count, .drafts = is_last ? std::min(row.drafts, count - 1) : 0});
  }
  part.step = cache::step(std::move(rows));
  return part;
}

}  // namespace

std::vector<batch_part> parts_of(const batch& whole, int longest) {
  std::vector<batch_part> parts;
  for (int done = 0;; done += longest) {
    auto part = part_from(whole, done, longest);
    if (part.tokens.empty()) return parts;
    parts.push_back(std::move(part));
  }
}

// Complete before the first snapshot is taken: if anything throws after that, the destructor runs.
return_points::return_points(cache::cache& cache, const cache::step& step) : return_points(cache) {
  points_.reserve(step.rows().size());
  for (const auto& row : step.rows()) points_.push_back({row.slot, cache.length(row.slot)});
  for (auto& each : points_) each.taken_here = cache.take_checkpoint(each.slot);
}

/// A slot is empty if even that fails: the error that led here is thrown.
void return_points::go_back(const point& saved) noexcept try {
  cache_.truncate(saved.slot, saved.length);
} catch (...) {
}

return_points::~return_points() {
  for (const auto& each : points_) {
    if (!kept_) go_back(each);
    if (each.taken_here) cache_.drop_checkpoint(each.slot, each.length);
  }
}

}  // namespace cogen::nn
