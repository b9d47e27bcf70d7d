#pragma once

#include "kernels/rope.hpp"
#include "layers/pass.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <string>

namespace cogen::layers {

struct attention_shape {
  std::int64_t hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  bool bias = false;

  std::int64_t q_width() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * head_dim; }
};

/// Causal attention with rotary positions, over what the step's slots remember. Immutable.
///
/// Where the cache layer lets itself be read in place, kernels write new keys and values where they stay and read all
/// of them there. A layer of any other kind is written and read through its own append() and materialise().
class attention {
 public:
  /// Reads PREFIX + "q_proj", "k_proj", "v_proj" and "o_proj".
  attention(weight_reader& weights, const std::string& prefix, const attention_shape& shape);

  /// out += attention(x) of cache layer `layer`. x and out [step.tokens(), hidden]; they do not overlap. `rope` may be
  /// null: no rotation.
  void add(const pass& pass, int layer, const kernels::rope_table* rope, const activations& x,
           const activations& out) const;

  std::int64_t bytes() const { return qkv_.bytes() + output_.bytes(); }

 private:
  void attend_in_place(const pass& pass, const kernels::rope_table* rope, const activations& qkv) const;

  attention_shape shape_;
  float scale_;
  projection qkv_;
  projection output_;
};

}  // namespace cogen::layers
