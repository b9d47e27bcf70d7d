#pragma once

#include "layers/forward_context.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <string>

namespace cogen::layers {

struct cross_shape {
  std::int64_t hidden = 0;
  int heads = 0;
  int head_dim = 0;

  std::int64_t width() const { return std::int64_t{heads} * head_dim; }
};

/// Attention of new tokens to the encoder input of their slot, of which keys and values were cached once; all
/// projections have biases. Immutable.
class cross_attention {
 public:
  /// Reads PREFIX + "q_proj", "k_proj", "v_proj" and "out_proj".
  cross_attention(weight_reader& weights, const std::string& prefix, const cross_shape& shape);

  /// Caches keys and values of the encoder inputs in cache layer `layer`. The context is that of the encoder inputs:
  /// room for them is reserved. x [step.tokens(), hidden]
  void remember(const forward_context& context, int layer, const activations& x) const;

  /// out += attention(x). x and out [step.tokens(), hidden]; they may be the same. Throws std::logic_error if the cache
  /// layer cannot be read in place.
  void add(const forward_context& context, int layer, const activations& x, const activations& out) const;

  /// Bytes that add() reads.
  std::int64_t bytes() const { return q_.bytes() + output_.bytes(); }

 private:
  cross_shape shape_;
  float scale_;
  projection q_;
  projection kv_;
  projection output_;
};

}  // namespace cogen::layers
