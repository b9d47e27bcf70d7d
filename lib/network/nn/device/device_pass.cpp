#include "network/nn/device/device_pass.hpp"

#include <ATen/ops/index_select.h>

namespace cogen::nn {

namespace {

/// Rows at the beginning of a buffer, one behind the other, as kernels read them.
at::Tensor part_of(const at::Tensor& buffer, std::int64_t rows, std::int64_t columns) {
  return buffer.flatten().narrow(0, 0, rows * columns).view({rows, columns});
}

}  // namespace

at::Tensor device_pass::keep(const at::Tensor& x) const {
  return outputs_.defined() ? at::index_select(x, 0, outputs_) : x;
}

at::Tensor device_pass::embed(const device::embedding& embeddings, const at::Tensor& last, std::int64_t) const {
  if (!embeddings.vocabulary) {
    ops_.embed(embeddings, rows_, last, scratch_.x);
    return scratch_.x;
  }
  const auto found = part_of(scratch_.partial, scratch_.x.size(0), embeddings.width);
  ops_.find_vectors(embeddings, rows_, last, found);
  ranks_->sum(found);
  ops_.finish_embedding(embeddings, rows_, found, scratch_.x);
  return scratch_.x;
}

void device_pass::keep_embeddings(const at::Tensor& x) const { scratch_.wide.narrow(1, x.size(1), x.size(1)).copy_(x); }

at::Tensor device_pass::beside_embeddings(const at::Tensor& x) const {
  scratch_.wide.narrow(1, 0, x.size(1)).copy_(x);
  return scratch_.wide;
}

at::Tensor device_pass::norm_linear(const at::Tensor& x, const device::norm& pre_norm, const device::projection& linear,
                                    std::int64_t outputs) const {
  const auto y = part_of(scratch_.qkv, x.size(0), outputs);
  ops_.norm_linear(input_of(x, pre_norm), pre_norm, linear, y);
  return y;
}

device::norm_input device_pass::input_of(const at::Tensor& x, const device::norm& pre_norm) const {
  return &pre_norm == deferred_norm_ && x.is_same(begun_.x) ? begun_ : x;
}

at::Tensor device_pass::attended(std::int64_t rows, const device::heads& attention) const {
  return part_of(scratch_.attended, rows, attention.q_width());
}

at::Tensor device_pass::attend(const device::heads& attention, int layer, const at::Tensor& qkv) const {
  const auto& kept = memory_.cache.layer(layer);
  const auto& turn = attention.turn.in(memory_.cache.max_sequence_length());
  const auto out = attended(qkv.size(0), attention);
  const device::qkv_rows numbers{
      qkv, scratch_.sink_q.defined() ? part_of(scratch_.sink_q, qkv.size(0), attention.q_width()) : at::Tensor()};
  if (memory_.prefetcher) memory_.prefetcher->wait_layer(layer);
  ops_.rotate_and_append(numbers, attention.shape, turn, rows_, kept);
  if (memory_.prefetcher && !attention.shape.shares_kv) memory_.prefetcher->store_layer(layer);
  ops_.attend(numbers, attention.shape, rows_, kept, out);
  return out;
}

at::Tensor device_pass::attend_to_encoder_input(const device::heads& attention, int layer, const at::Tensor& q) const {
  const auto out = attended(q.size(0), attention);
  ops_.attend_to_encoder_input(q, attention.shape, rows_, memory_.cache.layer(layer), out);
  return out;
}

void device_pass::store_encoder_input(const at::Tensor& x, const device::norm& pre_norm,
                                      const device::cross_attention& part) const {
  const auto kv = norm_linear(x, pre_norm, part.kv, 2 * part.heads.kv_width());
  ops_.store_encoder_input(kv, part.heads.shape, rows_, memory_.cache.layer(part.layer));
}

at::Tensor encoder_pass::attend(const device::heads& attention, int, const at::Tensor& qkv) const {
  const auto out = attended(qkv.size(0), attention);
  ops_.attend_within_rows(qkv, attention.shape, attention.turn.in(rows_.reach), rows_, out);
  return out;
}

/// What goes into the absorbed queries lies where their sums will, and the result where they were.
at::Tensor device_pass::attend_to_latents(const at::Tensor& x, const device::norm& pre_norm,
                                          const device::latent_attention& part) const {
  const auto in = part_of(scratch_.attended, x.size(0), part.in_width());
  ops_.norm_linear(x, pre_norm, part.in, in);
  const auto rows = part_of(scratch_.qkv, x.size(0), part.heads.qkv_width());
  ops_.absorb(in, part, rows);
  const auto sums = attend(part.heads, part.layer, rows);
  const auto out = part_of(scratch_.qkv, x.size(0), part.out_width());
  ops_.expand(sums, part, out);
  return out;
}

at::Tensor device_pass::scan(const device::selective_scan& mamba, int layer, const at::Tensor& x_and_gate) const {
  const auto out = part_of(scratch_.mixed, x_and_gate.size(0), mamba.channels());
  ops_.scan(x_and_gate, mamba, rows_, memory_.cache.layer(layer), out);
  return out;
}

at::Tensor device_pass::mix(const at::Tensor& x, const device::norm& pre_norm,
                            const device::recurrent_mixer& part) const {
  return std::visit(
      [&](const auto& mixer) {
        const auto in = norm_linear(x, pre_norm, part.in, mixer.spec.in_width());
        const auto decisions = part_of(scratch_.decisions, x.size(0), mixer.spec.decisions());
        if (part.decisions.weights.defined()) ops_.norm_linear(x, pre_norm, part.decisions, decisions);
        const auto out = part_of(scratch_.mixed, x.size(0), mixer.spec.out_width());
        ops_.mix({in, decisions}, part.mixer, rows_, memory_.cache.layer(part.layer), out);
        return out;
      },
      part.mixer);
}

at::Tensor device_pass::mix_times(const at::Tensor& x, const device::norm& pre_norm,
                                  const device::time_mix& part) const {
  const auto out = part_of(scratch_.mixed, x.size(0), part.spec.channels);
  ops_.mix_times(x, pre_norm, part, rows_, memory_.cache.layer(part.layer), out);
  return out;
}

at::Tensor device_pass::mix_channels(const at::Tensor& x, const device::norm& pre_norm,
                                     const device::channel_mix& part) const {
  const auto out = part_of(scratch_.joined, x.size(0), x.size(1));
  ops_.mix_channels(x, pre_norm, part, rows_, memory_.cache.layer(part.layer), out);
  return out;
}

at::Tensor device_pass::norm_activated(const at::Tensor& x, const device::norm& pre_norm,
                                       const device::projection& linear, const parts::activation& function,
                                       std::int64_t intermediate) const {
  const auto y = part_of(scratch_.gated, x.size(0), intermediate);
  ops_.norm_activated(input_of(x, pre_norm), pre_norm, linear, function, y);
  return y;
}

void device_pass::read_layer_inputs(const device::layer_inputs& vectors, const at::Tensor& last,
                                    const at::Tensor& x) const {
  ops_.read_layer_inputs(vectors, rows_, last, x, scratch_.inputs);
}

at::Tensor device_pass::gate_layer_input(const at::Tensor& x, const device::norm& pre_norm,
                                         const device::layer_input& part) const {
  const auto y = part_of(scratch_.gated, x.size(0), part.width);
  ops_.gate_layer_input(x, pre_norm, part,
                        x.size(0) < scratch_.inputs.size(0) ? keep(scratch_.inputs) : scratch_.inputs, y);
  return y;
}

at::Tensor device_pass::low_rank(const at::Tensor& x, const device::norm& pre_norm,
                                 const device::low_rank& part) const {
  const auto y = part_of(scratch_.joined, x.size(0), x.size(1));
  ops_.low_rank(x, pre_norm, part, y);
  return y;
}

void device_pass::step_streams(const device::stream_step& step, const at::Tensor& x) {
  if (x.size(0) < streams_.size(0)) streams_ = keep(streams_);
  ops_.step_streams(step, streams_, x);
}

at::Tensor device_pass::zeros_like(const at::Tensor& x) const {
  return part_of(scratch_.joined, x.size(0), x.size(1)).zero_();
}

void device_pass::add_rows(const at::Tensor& rows, const device::residual& update, const at::Tensor& x) const {
  ops_.add_rows(rows, update, x);
}

device_pass::routed_rows device_pass::route(const at::Tensor& x, const device::norm& pre_norm,
                                            const device::mixture_of_experts& moe) const {
  const routed_rows routed{part_of(scratch_.routed, x.size(0), x.size(1)),
                           part_of(scratch_.shares, x.size(0), moe.shares())};
  ops_.route(x, pre_norm, moe, routed.normed, routed.shares);
  return routed;
}

void device_pass::add_experts(const routed_rows& routed, const device::mixture_of_experts& moe,
                              const device::residual& update, const at::Tensor& x) const {
  if (!moe.spec.owned) return ops_.add_experts(routed.normed, routed.shares, moe, update, x);
  const auto partial = part_of(scratch_.partial, x.size(0), x.size(1)).zero_();
  ops_.add_experts(routed.normed, routed.shares, moe, {}, partial);
  ranks_->sum(partial);
  ops_.add_rows(partial, update, x);
}

void device_pass::linear_add(const at::Tensor& y, const device::projection& linear, const device::residual& update,
                             const at::Tensor& x) {
  deferred_norm_ = nullptr;
  if (!linear.is_shard) {
    begun_ = x;
    if (update.next && x.size(0) <= scratch_.weighted.size(0))
      begun_ = {x, part_of(scratch_.weighted, x.size(0), x.size(1)), scratch_.squares.narrow(0, 0, x.size(0))};
    if (ops_.linear_add(y, linear, update, begun_)) deferred_norm_ = update.next;
    return;
  }
  const auto partial = part_of(scratch_.partial, x.size(0), x.size(1));
  ops_.norm_linear(y, {}, linear, partial);
  ranks_->sum(partial);
  ops_.add_rows(partial, update, x);
}

}  // namespace cogen::nn
