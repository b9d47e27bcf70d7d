#pragma once

#include "network/backend/operators.hpp"

#include <cstdint>
#include <vector>

namespace cogen::device {

/// The operators as plain tensor arithmetic, on any device: the readable specification, which kernels are compared
/// with. Products are in the weights' type, everything else in float32. Sampling and quantized numbers are a device's
/// own.
///
/// Of rows of a single token, which a graph replays, nothing is read on the host, and all shapes follow from their
/// number. Prompts are run one after the other.
class tensor_operators : public operators {
 public:
  void embed(const embedding& embeddings, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) override;
  void find_vectors(const embedding& embeddings, const step_rows& rows, const at::Tensor& last,
                    const at::Tensor& found) override;
  void finish_embedding(const embedding& embeddings, const step_rows& rows, const at::Tensor& found,
                        const at::Tensor& x) override;
  void norm_linear(const norm_input& x, const norm& pre_norm, const projection& linear, const at::Tensor& y) override;
  void norm_activated(const norm_input& x, const norm& pre_norm, const projection& linear,
                      const parts::activation& function, const at::Tensor& y) override;
  bool linear_add(const at::Tensor& y, const projection& linear, const residual& update,
                  const norm_input& output) override;
  void add_rows(const at::Tensor& rows, const residual& update, const at::Tensor& x) override;
  void score(const at::Tensor& x, const norm& pre_norm, const head& lm_head, const at::Tensor& logits) override;

  void read_layer_inputs(const layer_inputs& vectors, const step_rows& rows, const at::Tensor& last,
                         const at::Tensor& x, const at::Tensor& out) override;
  void gate_layer_input(const at::Tensor& x, const norm& pre_norm, const layer_input& part, const at::Tensor& inputs,
                        const at::Tensor& y) override;
  void low_rank(const at::Tensor& x, const norm& pre_norm, const device::low_rank& part, const at::Tensor& y) override;

  void start_streams(const streams& part, const at::Tensor& x, const at::Tensor& states) override;
  void step_streams(const stream_step& step, const at::Tensor& states, const at::Tensor& x) override;
  void join_streams(const streams& part, const at::Tensor& states, const at::Tensor& x) override;
  void linear_add_to_streams(const at::Tensor& y, const projection& linear, const norm& after,
                             const at::Tensor& states) override;

  void route(const at::Tensor& x, const norm& pre_norm, const mixture_of_experts& moe, const at::Tensor& normed,
             const at::Tensor& shares) override;
  void add_experts(const at::Tensor& normed, const at::Tensor& shares, const mixture_of_experts& moe,
                   const residual& update, const at::Tensor& x) override;

  void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                         const step_rows& rows, const cache::device_layer& layer) override;
  void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override;
  void attend_to_encoder_input(const at::Tensor& q, const attention_shape& shape, const step_rows& rows,
                               const cache::device_layer& layer, const at::Tensor& out) override;
  void attend_within_rows(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn,
                          const step_rows& rows, const at::Tensor& out) override;
  void store_encoder_input(const at::Tensor& kv, const attention_shape& shape, const step_rows& rows,
                           const cache::device_layer& layer) override;
  void absorb(const at::Tensor& in, const latent_attention& part, const at::Tensor& rows) override;
  void expand(const at::Tensor& sums, const latent_attention& part, const at::Tensor& out) override;

  void scan(const at::Tensor& x_and_gate, const selective_scan& mamba, const step_rows& rows,
            const cache::device_layer& layer, const at::Tensor& out) override;
  void mix(const mixer_rows& numbers, const mixer& part, const step_rows& rows, const cache::device_layer& layer,
           const at::Tensor& out) override;
  void mix_times(const at::Tensor& x, const norm& pre_norm, const time_mix& part, const step_rows& rows,
                 const cache::device_layer& layer, const at::Tensor& out) override;
  void mix_channels(const at::Tensor& x, const norm& pre_norm, const channel_mix& part, const step_rows& rows,
                    const cache::device_layer& layer, const at::Tensor& out) override;

 protected:
  /// x W^T + bias by norm_linear(). x [rows, inputs], result [rows, outputs] float32
  at::Tensor product(const at::Tensor& x, const projection& linear);

  /// Adds to y what the adapters of its product make of x. x [rows, inputs], y [rows, outputs]
  static void adapt(const at::Tensor& x, const projection& linear, const at::Tensor& y);

  /// The weights of a product as numbers, [outputs, inputs]. Throws std::logic_error if they are quantized.
  virtual at::Tensor weights_of(const projection& linear, std::int64_t inputs) const;

  /// The table's rows of these tokens, [tokens, width] float32.
  at::Tensor found_in(const projection& table, const at::Tensor& ids, std::int64_t width) const;

  /// Whether at::_grouped_mm() multiplies by such matrices [groups, outputs, inputs] without reading where the groups
  /// end on the host.
  virtual bool multiplies_groups(const at::Tensor& weights) const = 0;

  /// What a layer keeps quantized, as numbers: keys (plane 0) or values (plane 1), [slots, positions, kv_heads,
  /// head_dim]. Throws std::invalid_argument.
  virtual at::Tensor quantized_tokens(const cache::device_layer& layer, int plane) const;

  /// How many of `places` to read where each row needs as many as `lengths` says: all, as the host does not know the
  /// lengths. A device whose numbers are on the host may read fewer.
  virtual std::int64_t places_to_read(const at::Tensor& lengths, std::int64_t places) const;

 private:
  at::Tensor scanned(const at::Tensor& x, const selective_scan& mamba, const at::Tensor& h);
  std::vector<at::Tensor> products_of_mixes(const at::Tensor& x, const at::Tensor& mixes,
                                            const std::vector<projection>& projections, const at::Tensor& state);
  at::Tensor feed_forward(const at::Tensor& x, const parts::mlp<tensors>& part);
  at::Tensor sum_of_chosen(const at::Tensor& normed, const at::Tensor& shares, const mixture_of_experts& moe);
  at::Tensor sum_of_all(const at::Tensor& normed, const at::Tensor& shares, const mixture_of_experts& moe);
};

/// Multiplies the heads' outputs by sigmoid(gate), if the shape has gates.
void gate_outputs(const qkv_rows& numbers, const attention_shape& shape, const at::Tensor& out);

}  // namespace cogen::device
