#pragma once

#include "layers/forward_context.hpp"
#include "layers/norm.hpp"
#include "layers/projection.hpp"
#include "layers/rope.hpp"
#include "models/model_spec.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace cogen::layers {

/// Attention of new tokens over the cache of the step's slots. Immutable.
///
/// If the cache layer can be read in place, kernels write new keys and values into it and read all of them there. Any
/// other layer is written and read through its append() and to_dense().
class attention {
 public:
  /// Reads the matrices that the spec names after the prefix. `rope` is that of the spec, or null.
  attention(weight_reader& weights, const std::string& prefix, const models::attention_spec& spec, std::int64_t hidden,
            std::shared_ptr<const rope> rope);

  /// out = attention(x) of cache layer `layer`. x and out [step.tokens(), hidden]; they may be the same.
  void operator()(const forward_context& context, int layer, const input& x, const activations& out) const;

  /// out += attention(x).
  void add(const forward_context& context, int layer, const input& x, const activations& out) const;

  std::int64_t bytes() const { return qkv_.bytes() + output_.bytes(); }

 private:
  activations attended(const forward_context& context, int layer, const input& x) const;
  void prepare(const forward_context& context, const kernels::rope_table* table, const activations& qkv) const;
  void attend_in_place(const forward_context& context, cache::layer& memory, const kernels::rope_table* table,
                       const activations& qkv) const;

  models::attention_spec spec_;
  std::shared_ptr<const rope> rope_;
  projection qkv_;
  projection output_;
  std::optional<qk_norm> norm_;
};

}  // namespace cogen::layers
