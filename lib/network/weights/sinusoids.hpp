#pragma once

#include <cstdint>
#include <vector>

namespace cogen::weights {

/// Positions [first, first + count) as [count, width]: a sine and a cosine of position * 10000^(-k / steps), for each k
/// below width / 2, all sines first (Vaswani et al., arXiv:1706.03762, section 3.5). In float32, as models were
/// trained.
std::vector<float> sinusoids(std::int64_t first, std::int64_t count, std::int64_t width, std::int64_t steps);

}  // namespace cogen::weights
