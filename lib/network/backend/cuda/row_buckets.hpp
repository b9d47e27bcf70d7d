#pragma once

#include <cstdint>
#include <vector>

namespace cogen::device {

/// The most rows of the bucket to which a number of rows, at least 1, belongs: 16, 24, 32, 48, 64, 96 and so on.
constexpr std::int64_t row_bucket(std::int64_t rows) {
  std::int64_t most = 16;
  while (most < rows) most += (most & (most - 1)) == 0 ? most / 2 : most / 3;
  return most;
}

/// All buckets up to that of `rows`.
inline std::vector<std::int64_t> row_buckets(std::int64_t rows) {
  std::vector<std::int64_t> buckets;
  for (std::int64_t first = 1; first <= rows; first = buckets.back() + 1) buckets.push_back(row_bucket(first));
  return buckets;
}

}  // namespace cogen::device
