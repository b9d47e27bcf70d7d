#pragma once

#include "layers/forward_context.hpp"
#include "layers/projection.hpp"
#include "models/model_spec.hpp"

#include <cstdint>
#include <string>

namespace cogen::layers {

/// Attention of new tokens to the encoder input of their slot, of which keys and values were cached once.
/// Immutable.
class cross_attention {
 public:
  /// Reads the matrices that the spec names after the prefix.
  cross_attention(weight_reader& weights, const std::string& prefix, const models::attention_spec& spec,
                  std::int64_t hidden);

  /// Caches keys and values of the encoder inputs in cache layer `layer`. The context is that of the encoder inputs:
  /// room for them is reserved. x [step.tokens(), hidden]
  void remember(const forward_context& context, int layer, const activations& x) const;

  /// out += attention(x). x and out [step.tokens(), hidden]; they may be the same. Throws std::logic_error if the cache
  /// layer cannot be read in place.
  void add(const forward_context& context, int layer, const activations& x, const activations& out) const;

  /// Bytes that add() reads.
  std::int64_t bytes() const { return q_.bytes() + output_.bytes(); }

 private:
  models::attention_spec spec_;
  projection q_;
  projection kv_;
  projection output_;
};

}  // namespace cogen::layers
