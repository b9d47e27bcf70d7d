#pragma once

#include "layers/forward_context.hpp"
#include "layers/norm.hpp"
#include "layers/projection.hpp"
#include "layers/rope.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cogen::layers {

/// A norm of each head's queries and keys, before they are rotated.
struct head_norms {
  double epsilon = 1e-6;
  float weight_offset = 0;
};

struct attention_shape {
  std::int64_t hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  bool bias = false;                 // of all projections
  std::optional<double> scale;       // of q . k; none: 1 / sqrt(head_dim)
  std::optional<head_norms> norms;   // PREFIX + "q_norm.weight" and "k_norm.weight"
  std::shared_ptr<const rope> rope;  // null: no rotation
  std::string output = "o_proj";     // name of the last projection

  std::int64_t q_width() const { return std::int64_t{heads} * head_dim; }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * head_dim; }
};

/// Attention of new tokens over the cache of the step's slots. Immutable.
///
/// If the cache layer can be read in place, kernels write new keys and values into it and read all of them there. Any
/// other layer is written and read through its append() and to_dense().
class attention {
 public:
  /// Reads PREFIX + "q_proj", "k_proj", "v_proj" and the output's.
  attention(weight_reader& weights, const std::string& prefix, attention_shape shape);

  /// out = attention(x) of cache layer `layer`. x and out [step.tokens(), hidden]; they may be the same.
  void operator()(const forward_context& context, int layer, const input& x, const activations& out) const;

  /// out += attention(x).
  void add(const forward_context& context, int layer, const input& x, const activations& out) const;

  std::int64_t bytes() const { return qkv_.bytes() + output_.bytes(); }

 private:
  struct norms {
    rms_norm q;
    rms_norm k;
  };

  activations attended(const forward_context& context, int layer, const input& x) const;
  void norm_heads(const forward_context& context, const activations& qkv) const;
  void attend_in_place(const forward_context& context, cache::layer& memory, const kernels::rope_table* rope,
                       const activations& qkv) const;

  attention_shape shape_;
  float scale_;
  projection qkv_;
  projection output_;
  std::optional<norms> norms_;
};

}  // namespace cogen::layers
