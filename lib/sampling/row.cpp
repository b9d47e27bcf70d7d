#include "sampling/row.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

namespace cogen {
namespace {

constexpr std::size_t lanes = 16;

/// Largest entry and unfit entries of each lane, kept apart so that the loops over lanes become vector instructions.
struct lane_scan {
  std::array<float, lanes> largest;
  std::array<int, lanes> unfit{};

  lane_scan() { largest.fill(-infinity); }

  void add(const float* logits, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) {
      largest[j] = logits[j] > largest[j] ? logits[j] : largest[j];
      unfit[j] |= logits[j] < infinity ? 0 : 1;
    }
  }
};

}  // namespace

row_scan scan_row(std::span<const float> logits, std::vector<float>& maxima) {
  maxima.resize((logits.size() + row_block - 1) / row_block);
  row_scan found{-infinity, true};
  for (std::size_t b = 0; b < maxima.size(); ++b) {
    const auto block = block_of(logits, b);
    lane_scan scan;
    std::size_t i = 0;
    for (; i + lanes <= block.size(); i += lanes) scan.add(block.data() + i, lanes);
    scan.add(block.data() + i, block.size() - i);
    maxima[b] = *std::max_element(scan.largest.begin(), scan.largest.end());
    found.largest = std::max(found.largest, maxima[b]);
    for (const int unfit : scan.unfit) found.finite &= unfit == 0;
  }
  return found;
}

std::size_t first_equal(std::span<const float> logits, std::span<const float> maxima, float largest) {
  const auto b = static_cast<std::size_t>(std::find(maxima.begin(), maxima.end(), largest) - maxima.begin());
  const auto block = block_of(logits, b);
  return b * row_block + static_cast<std::size_t>(std::find(block.begin(), block.end(), largest) - block.begin());
}

void collect_at_least(std::span<const float> logits, std::span<const float> maxima, float bound,
                      std::vector<candidate>& candidates) {
  candidates.clear();
  for (std::size_t b = 0; b < maxima.size(); ++b) {
    if (maxima[b] < bound || maxima[b] == -infinity) continue;
    auto id = static_cast<token>(b * row_block);
    for (const float logit : block_of(logits, b)) {
      if (logit >= bound && logit > -infinity) candidates.push_back({id, logit, 0});
      ++id;
    }
  }
}

void collect_about_largest(std::span<const float> logits, std::size_t count, sampling_scratch& scratch) {
  float bound = -infinity;
  if (count <= scratch.block_maxima.size()) {
    auto& maxima = scratch.ordered_maxima = scratch.block_maxima;
    const auto nth = maxima.begin() + static_cast<std::ptrdiff_t>(count) - 1;
    std::nth_element(maxima.begin(), nth, maxima.end(), std::greater<>());
    bound = *nth;
  }
  collect_at_least(logits, scratch.block_maxima, bound, scratch.candidates);
}

void collect_largest(std::span<const float> logits, std::size_t count, sampling_scratch& scratch) {
  collect_about_largest(logits, count, scratch);
  auto& found = scratch.candidates;
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(count, found.size()));
  std::partial_sort(found.begin(), end, found.end(), ranks_before);
  found.erase(end, found.end());
}

}  // namespace cogen
