#pragma once

#include <cogen/detail/cache/attention_span.hpp>

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace cogen::cache {

/// Which query attends to which key: a rule over their positions, counted from the start of the sequence.
///
/// Rules compose: `causal() & sliding(512)`, `a | b`. Any callable (q, kv) -> bool is one. Immutable; thread-safe.
class mask {
 public:
  /// Whether the query at position q attends to the key at position kv.
  using rule = std::function<bool(std::int64_t q, std::int64_t kv)>;

  /// Throws std::invalid_argument for an empty rule.
  mask(rule span);

  /// Whether the query at position q attends to the key at position kv.
  bool operator()(std::int64_t q, std::int64_t kv) const { return span_(q, kv); }

  /// Both rules, or either one.
  friend mask operator&(mask a, mask b);
  friend mask operator|(mask a, mask b);

 private:
  rule span_;
};

/// kv <= q
mask causal();

/// Every query attends to every key.
mask bidirectional();

/// kv > q - window: the last `window` positions. Throws std::invalid_argument unless window >= 1.
mask sliding(std::int64_t window);

/// q / chunk == kv / chunk: the positions of one chunk. Throws std::invalid_argument unless chunk >= 1.
mask chunked(std::int64_t chunk);

/// kv < count: the first positions, whatever the query (Xiao et al., arXiv:2309.17453). Throws std::invalid_argument
/// for a count below 0.
mask sinks(std::int64_t count);

/// No query attends to the first `count` positions. Throws std::invalid_argument for a count below 0.
mask padding(std::int64_t count);

/// Several sequences in one: only positions of the same sequence attend to each other. `lengths` are theirs, in order;
/// positions after the last one attend to nothing. Throws std::invalid_argument for a length below 0.
mask varlen(const std::vector<std::int64_t>& lengths);

/// Positions of the same block attend to each other both ways, as the tokens of one image do; others to nothing by this
/// rule. `blocks` are [begin, end) pairs. Throws std::invalid_argument if one ends before it begins.
mask within_blocks(const std::vector<std::pair<std::int64_t, std::int64_t>>& blocks);

/// The rule that kernels implement for this span.
mask rule_of(const attention_span& span);

}  // namespace cogen::cache
