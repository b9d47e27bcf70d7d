#pragma once

#include "network/backend/collectives.hpp"
#include "network/backend/operators.hpp"
#include "network/nn/device/device_memory.hpp"
#include "network/nn/device/device_scratch.hpp"

#include <cstdint>
#include <variant>

namespace cogen::nn {

/// The operators of one forward on a device. Results are in the forward's scratch.
class device_pass {
 public:
  /// Arguments are those of device_model::forward(), and its collectives, and must outlive it.
  device_pass(device::operators& ops, device::collectives* ranks, const device::step_rows& rows,
              const at::Tensor& outputs, const device_memory& memory, const device_scratch& scratch)
      : ops_(ops),
        ranks_(ranks),
        rows_(rows),
        outputs_(outputs),
        memory_(memory),
        scratch_(scratch),
        streams_(scratch.streams) {}

  static std::monostate scratch() { return {}; }
  static bool is_empty(const at::Tensor& x) { return x.size(0) == 0; }

  /// The rows of the outputs.
  at::Tensor keep(const at::Tensor& x) const;

  at::Tensor embed(const device::embedding& embeddings, const at::Tensor& last, std::int64_t hidden) const;
  void keep_embeddings(const at::Tensor& x) const;
  at::Tensor beside_embeddings(const at::Tensor& x) const;
  at::Tensor norm_linear(const at::Tensor& x, const device::norm& pre_norm, const device::projection& linear,
                         std::int64_t outputs) const;
  at::Tensor attend(const device::heads& attention, int layer, const at::Tensor& qkv) const;
  at::Tensor attend_to_encoder_input(const device::heads& attention, int layer, const at::Tensor& q) const;
  at::Tensor attend_to_latents(const at::Tensor& x, const device::norm& pre_norm,
                               const device::latent_attention& part) const;
  at::Tensor scan(const device::selective_scan& mamba, int layer, const at::Tensor& x_and_gate) const;
  at::Tensor mix(const at::Tensor& x, const device::norm& pre_norm, const device::recurrent_mixer& part) const;
  at::Tensor mix_times(const at::Tensor& x, const device::norm& pre_norm, const device::time_mix& part) const;
  at::Tensor mix_channels(const at::Tensor& x, const device::norm& pre_norm, const device::channel_mix& part) const;
  at::Tensor norm_activated(const at::Tensor& x, const device::norm& pre_norm, const device::projection& linear,
                            const parts::activation& function, std::int64_t intermediate) const;

  void read_layer_inputs(const device::layer_inputs& vectors, const at::Tensor& last, const at::Tensor& x) const;
  at::Tensor gate_layer_input(const at::Tensor& x, const device::norm& pre_norm, const device::layer_input& part) const;

  at::Tensor low_rank(const at::Tensor& x, const device::norm& pre_norm, const device::low_rank& part) const;
  void start_streams(const device::streams& part, const at::Tensor& x) const { ops_.start_streams(part, x, streams_); }
  void step_streams(const device::stream_step& step, const at::Tensor& x);
  void join_streams(const device::streams& part, const at::Tensor& x) const { ops_.join_streams(part, streams_, x); }
  void linear_add_to_streams(const at::Tensor& y, const device::projection& linear, const device::norm& after) const {
    ops_.linear_add_to_streams(y, linear, after, streams_);
  }

  at::Tensor zeros_like(const at::Tensor& x) const;
  void add_rows(const at::Tensor& rows, const device::residual& update, const at::Tensor& x) const;

  /// Normed rows, and the experts' shares in their results.
  struct routed_rows {
    at::Tensor normed;
    at::Tensor shares;
  };
  routed_rows route(const at::Tensor& x, const device::norm& pre_norm, const device::mixture_of_experts& moe) const;
  void add_experts(const routed_rows& routed, const device::mixture_of_experts& moe, const device::residual& update,
                   const at::Tensor& x) const;
  void linear_add(const at::Tensor& y, const device::projection& linear, const device::residual& update,
                  const at::Tensor& x);

  /// Keys and values of encoder inputs, whose hidden states are pre_norm(x), go to the cross layer of a part.
  void store_encoder_input(const at::Tensor& x, const device::norm& pre_norm,
                           const device::cross_attention& part) const;

 protected:
  at::Tensor attended(std::int64_t rows, const device::heads& attention) const;

  /// What pre_norm(x) is made of: x, and what the last product has begun of that norm.
  device::norm_input input_of(const at::Tensor& x, const device::norm& pre_norm) const;

  device::operators& ops_;
  device::collectives* const ranks_;
  const device::step_rows& rows_;
  const at::Tensor& outputs_;
  const device_memory& memory_;
  const device_scratch& scratch_;
  at::Tensor streams_;  // of all tokens, or of those of the outputs

 private:
  const device::norm* deferred_norm_ = nullptr;  // which the last product has begun, of these rows
  device::norm_input begun_{at::Tensor()};
};

/// The same of an encoder, whose tokens attend to all tokens of their row.
class encoder_pass : public device_pass {
 public:
  using device_pass::device_pass;
  at::Tensor attend(const device::heads& attention, int layer, const at::Tensor& qkv) const;
};

}  // namespace cogen::nn
