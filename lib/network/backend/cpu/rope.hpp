#pragma once

#include "network/kernels/rope.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace cogen::cpu {

/// How fast each pair of dimensions turns.
struct rope_frequencies {
  std::vector<double> inverse;   // radians per position, [rotary_dim / 2]
  double attention_scaling = 1;  // of cosines and sines
};

/// The frequencies of each kind of scaling, by the formulas of Transformers' modeling_rope_utils.py; yarn is
/// Peng et al., arXiv:2309.00071.
/// Those of longrope depend on how many positions a sequence may reach.
rope_frequencies frequencies(const load::rope_config& config, std::int64_t room = 0);

/// Rotations, computed when a position is first reached: a model that may read a million positions does not begin by
/// computing them. Those of positions from `longest` on are never kept. Thread-safe.
class rope {
 public:
  rope(const load::rope_config& config, std::int64_t longest);

  /// A table that keeps at least `positions` positions (at most the longest), the same values in each, for a cache
  /// whose sequences may reach `room` of them.
  std::shared_ptr<const kernels::rope_table> covering(std::int64_t positions, std::int64_t room = 0) const;

 private:
  struct growing_table {
    rope_frequencies frequencies;
    std::shared_ptr<const kernels::rope_table> table = nullptr;
  };

  std::int64_t original_positions_;  // longrope: rotations differ in caches with more room
  std::int64_t longest_;
  mutable std::mutex mutex_;
  mutable std::vector<growing_table> tables_;  // one, or one for less room and one for more
};

}  // namespace cogen::cpu
