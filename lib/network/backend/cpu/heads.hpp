#pragma once

#include "network/backend/cpu/forward_context.hpp"
#include "network/backend/cpu/norm.hpp"
#include "network/backend/cpu/rope.hpp"
#include "network/models/model_spec.hpp"
#include "network/weights/qkv_rows.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace cogen::cpu {

/// What attention does between its products. Immutable.
class heads {
 public:
  /// `rope` is that of the spec, or null.
  heads(const models::attention_spec& spec, const weights::head_numbers& numbers, std::shared_ptr<const rope> rope);

  std::int64_t q_width() const { return spec_.q_width(); }
  std::int64_t kv_width() const { return spec_.kv_width(); }
  std::int64_t qkv_width() const {
    return (spec_.output_gate ? 2 : 1) * spec_.q_width() + (spec_.shared_kv ? 0 : 2) * spec_.kv_width();
  }

  /// Caches keys and values in cache layer `layer` and attends to those of the step's slots: what the heads found, side
  /// by side, in the place of the queries. qkv [step.tokens(), q|k|v or q|k|v|gate], result [step.tokens(), q_width]
  ///
  /// If the layer can be read in place, kernels write new keys and values into it and read all of them there. Any other
  /// layer is written and read through its append() and to_dense(). Heads that share another block's layer only read
  /// it: their qkv are queries.
  activations attend(const forward_context& context, int layer, const activations& qkv) const;

  /// The same with the keys and values that cache_encoder_input() left. q [step.tokens(), q_width]. Throws
  /// std::logic_error if the layer cannot be read in place.
  activations attend_to_encoder_input(const forward_context& context, int layer, const activations& q) const;

  /// Caches keys and values of encoder inputs. The context is that of the encoder inputs: room for them is reserved.
  /// kv [step.tokens(), k|v]
  void cache_encoder_input(const forward_context& context, int layer, const activations& kv) const;

 private:
  void prepare(const forward_context& context, const kernels::rope_table* table, const activations& qkv) const;
  void gate(const forward_context& context, const activations& qkv) const;
  void attend_in_place(const forward_context& context, cache::layer& memory, const kernels::rope_table* table,
                       const activations& qkv) const;

  models::attention_spec spec_;
  std::shared_ptr<const rope> rope_;
  std::optional<qk_norm> norm_;
  std::vector<float> sink_logits_;
  std::vector<float> distance_biases_;
};

}  // namespace cogen::cpu
