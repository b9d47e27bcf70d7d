#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

namespace cogen::cache {

/// Who sees whom: a rule over the positions of a query and a key, counted from the start of the sequence.
///
/// Rules compose: `causal() & mine`, `a | b`. Any callable (q, kv) -> bool is one. Immutable; any thread may ask.
class mask {
 public:
  using rule = std::function<bool(std::int64_t q, std::int64_t kv)>;

  /// Throws std::invalid_argument for an empty rule.
  mask(rule sees);

  bool operator()(std::int64_t q, std::int64_t kv) const { return sees_(q, kv); }

  friend mask operator&(mask a, mask b);
  friend mask operator|(mask a, mask b);

 private:
  rule sees_;
};

/// kv <= q
mask causal();

/// Every query sees every key.
mask bidirectional();

/// Row i stands for query position i + q_offset, column j for key position j + kv_offset.
struct mask_window {
  int q_length = 0;
  int q_offset = 0;
  int kv_length = 0;
  int kv_offset = 0;
};

/// True where the query of row i sees the key of column j. Boolean, [q_length, kv_length]. Throws std::invalid_argument
/// for a length or an offset below 0.
at::Tensor materialise(const mask& mask, const mask_window& window);

}  // namespace cogen::cache
