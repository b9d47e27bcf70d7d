#pragma once

#include "backend/operators.hpp"

namespace cogen::device {

/// The operators as plain tensor arithmetic in float32: the readable specification, which kernels are compared with.
/// Runs where its tensors are. Quantized tokens are stored dequantized.
class reference_operators final : public operators {
 public:
  std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                    std::int64_t head_dim) override;
  /// In the order of their scales: [inputs / 32, outputs, 32].
  at::Tensor quantize(const at::Tensor& codes) override;
  void embed(const embedding& from, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) override;
  void norm_linear(const at::Tensor& x, const norm& before, const projection& by, const at::Tensor& y) override;
  void norm_activated(const at::Tensor& x, const norm& before, const projection& by, const parts::activation& how,
                      const at::Tensor& y) override;
  void linear_add(const at::Tensor& y, const projection& by, const residual& how, const at::Tensor& x) override;
  void read_layer_inputs(const layer_inputs& from, const step_rows& rows, const at::Tensor& last, const at::Tensor& x,
                         const at::Tensor& into) override;
  void gate_layer_input(const at::Tensor& x, const norm& before, const layer_input& by, const at::Tensor& inputs,
                        const at::Tensor& y) override;
  void low_rank(const at::Tensor& x, const norm& before, const device::low_rank& by, const at::Tensor& y) override;
  void start_streams(const streams& by, const at::Tensor& x, const at::Tensor& all) override;
  void step_streams(const stream_step& by, const at::Tensor& all, const at::Tensor& x) override;
  void join_streams(const streams& by, const at::Tensor& all, const at::Tensor& x) override;
  void linear_add_to_streams(const at::Tensor& y, const projection& by, const norm& after,
                             const at::Tensor& all) override;
  void add_rows(const at::Tensor& rows, const residual& how, const at::Tensor& x) override;
  void route(const at::Tensor& x, const norm& before, const mixture_of_experts& by, const at::Tensor& normed,
             const at::Tensor& shares) override;
  void add_experts(const at::Tensor& normed, const at::Tensor& shares, const mixture_of_experts& by,
                   const residual& how, const at::Tensor& x) override;
  void score(const at::Tensor& x, const norm& before, const head& by, const at::Tensor& logits) override;
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
  void absorb(const at::Tensor& in, const latent_attention& by, const at::Tensor& rows) override;
  void expand(const at::Tensor& sums, const latent_attention& by, const at::Tensor& out) override;
  void scan(const at::Tensor& x_and_gate, const selective_scan& by, const step_rows& rows,
            const cache::device_layer& layer, const at::Tensor& out) override;
  void mix(const mixer_rows& numbers, const mixer& by, const step_rows& rows, const cache::device_layer& layer,
           const at::Tensor& out) override;
  void sample(const at::Tensor& logits, const step_sampling& how, const at::Tensor& last, const at::Tensor& tokens,
              const at::Tensor& statuses) override;
};

}  // namespace cogen::device
