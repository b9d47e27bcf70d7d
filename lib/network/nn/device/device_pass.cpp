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

at::Tensor device_pass::embed(const device::embedding& from, const at::Tensor& last) const {
  if (!from.vocabulary) {
    on_.embed(from, rows_, last, scratch_.x);
    return scratch_.x;
  }
  const auto found = part_of(scratch_.partial, scratch_.x.size(0), from.width);
  on_.find_vectors(from, rows_, last, found);
  ranks_->sum(found);
  on_.finish_embedding(from, rows_, found, scratch_.x);
  return scratch_.x;
}

void device_pass::keep_embeddings(const at::Tensor& x) const { scratch_.wide.narrow(1, x.size(1), x.size(1)).copy_(x); }

at::Tensor device_pass::beside_embeddings(const at::Tensor& x) const {
  scratch_.wide.narrow(1, 0, x.size(1)).copy_(x);
  return scratch_.wide;
}

at::Tensor device_pass::norm_linear(const at::Tensor& x, const device::norm& before, const device::projection& by,
                                    std::int64_t outputs) const {
  const auto y = part_of(scratch_.qkv, x.size(0), outputs);
  on_.norm_linear(input_of(x, before), before, by, y);
  return y;
}

device::norm_input device_pass::input_of(const at::Tensor& x, const device::norm& before) const {
  return &before == begun_norm_ && x.is_same(begun_.x) ? begun_ : x;
}

at::Tensor device_pass::attended(std::int64_t rows, const device::heads& how) const {
  return part_of(scratch_.attended, rows, how.q_width());
}

at::Tensor device_pass::attend(const device::heads& how, int layer, const at::Tensor& qkv) const {
  const auto& kept = memory_.cache.layer(layer);
  const auto& turn = how.turn.in(memory_.cache.max_sequence_length());
  const auto out = attended(qkv.size(0), how);
  const device::qkv_rows numbers{
      qkv, scratch_.sink_q.defined() ? part_of(scratch_.sink_q, qkv.size(0), how.q_width()) : at::Tensor()};
  if (memory_.prefetcher) memory_.prefetcher->wait_layer(layer);
  on_.rotate_and_append(numbers, how.shape, turn, rows_, kept);
  if (memory_.prefetcher && !how.shape.shares_kv) memory_.prefetcher->store_layer(layer);
  on_.attend(numbers, how.shape, rows_, kept, out);
  return out;
}

at::Tensor device_pass::attend_to_encoder_input(const device::heads& how, int layer, const at::Tensor& q) const {
  const auto out = attended(q.size(0), how);
  on_.attend_to_encoder_input(q, how.shape, rows_, memory_.cache.layer(layer), out);
  return out;
}

void device_pass::store_encoder_input(const at::Tensor& x, const device::norm& before,
                                      const device::cross_attention& part) const {
  const auto kv = norm_linear(x, before, part.kv, 2 * part.heads.kv_width());
  on_.store_encoder_input(kv, part.heads.shape, rows_, memory_.cache.layer(part.layer));
}

at::Tensor encoder_pass::attend(const device::heads& how, int, const at::Tensor& qkv) const {
  const auto out = attended(qkv.size(0), how);
  on_.attend_within_rows(qkv, how.shape, how.turn.in(rows_.reach), rows_, out);
  return out;
}

/// What goes into the absorbed queries lies where their sums will, and the result where they were.
at::Tensor device_pass::attend_to_latents(const at::Tensor& x, const device::norm& before,
                                          const device::latent_attention& part) const {
  const auto in = part_of(scratch_.attended, x.size(0), part.in_width());
  on_.norm_linear(x, before, part.in, in);
  const auto rows = part_of(scratch_.qkv, x.size(0), part.heads.qkv_width());
  on_.absorb(in, part, rows);
  const auto sums = attend(part.heads, part.layer, rows);
  const auto out = part_of(scratch_.qkv, x.size(0), part.out_width());
  on_.expand(sums, part, out);
  return out;
}

at::Tensor device_pass::scan(const device::selective_scan& by, int layer, const at::Tensor& x_and_gate) const {
  const auto out = part_of(scratch_.mixed, x_and_gate.size(0), by.channels());
  on_.scan(x_and_gate, by, rows_, memory_.cache.layer(layer), out);
  return out;
}

at::Tensor device_pass::mix(const at::Tensor& x, const device::norm& before, const device::recurrent_mixer& by) const {
  return std::visit(
      [&](const auto& mixer) {
        const auto in = norm_linear(x, before, by.in, mixer.spec.in_width());
        const auto decisions = part_of(scratch_.decisions, x.size(0), mixer.spec.decisions());
        if (by.decisions.weights.defined()) on_.norm_linear(x, before, by.decisions, decisions);
        const auto out = part_of(scratch_.mixed, x.size(0), mixer.spec.out_width());
        on_.mix({in, decisions}, by.mixer, rows_, memory_.cache.layer(by.layer), out);
        return out;
      },
      by.mixer);
}

at::Tensor device_pass::mix_times(const at::Tensor& x, const device::norm& before, const device::time_mix& by) const {
  const auto out = part_of(scratch_.mixed, x.size(0), by.how.channels);
  on_.mix_times(x, before, by, rows_, memory_.cache.layer(by.layer), out);
  return out;
}

at::Tensor device_pass::mix_channels(const at::Tensor& x, const device::norm& before,
                                     const device::channel_mix& by) const {
  const auto out = part_of(scratch_.joined, x.size(0), x.size(1));
  on_.mix_channels(x, before, by, rows_, memory_.cache.layer(by.layer), out);
  return out;
}

at::Tensor device_pass::norm_activated(const at::Tensor& x, const device::norm& before, const device::projection& by,
                                       const parts::activation& how, std::int64_t intermediate) const {
  const auto y = part_of(scratch_.gated, x.size(0), intermediate);
  on_.norm_activated(input_of(x, before), before, by, how, y);
  return y;
}

void device_pass::read_layer_inputs(const device::layer_inputs& from, const at::Tensor& last,
                                    const at::Tensor& x) const {
  on_.read_layer_inputs(from, rows_, last, x, scratch_.inputs);
}

at::Tensor device_pass::gate_layer_input(const at::Tensor& x, const device::norm& before,
                                         const device::layer_input& by) const {
  const auto y = part_of(scratch_.gated, x.size(0), by.width);
  on_.gate_layer_input(x, before, by, x.size(0) < scratch_.inputs.size(0) ? keep(scratch_.inputs) : scratch_.inputs, y);
  return y;
}

at::Tensor device_pass::low_rank(const at::Tensor& x, const device::norm& before, const device::low_rank& by) const {
  const auto y = part_of(scratch_.joined, x.size(0), x.size(1));
  on_.low_rank(x, before, by, y);
  return y;
}

void device_pass::step_streams(const device::stream_step& by, const at::Tensor& x) {
  if (x.size(0) < streams_.size(0)) streams_ = keep(streams_);
  on_.step_streams(by, streams_, x);
}

at::Tensor device_pass::zeros_like(const at::Tensor& x) const {
  return part_of(scratch_.joined, x.size(0), x.size(1)).zero_();
}

void device_pass::add_rows(const at::Tensor& rows, const device::residual& how, const at::Tensor& x) const {
  on_.add_rows(rows, how, x);
}

device_pass::routed_rows device_pass::route(const at::Tensor& x, const device::norm& before,
                                            const device::mixture_of_experts& by) const {
  const routed_rows routed{part_of(scratch_.routed, x.size(0), x.size(1)),
                           part_of(scratch_.shares, x.size(0), by.shares())};
  on_.route(x, before, by, routed.normed, routed.shares);
  return routed;
}

void device_pass::add_experts(const routed_rows& routed, const device::mixture_of_experts& by,
                              const device::residual& how, const at::Tensor& x) const {
  if (!by.how.owned) return on_.add_experts(routed.normed, routed.shares, by, how, x);
  const auto partial = part_of(scratch_.partial, x.size(0), x.size(1)).zero_();
  on_.add_experts(routed.normed, routed.shares, by, {}, partial);
  ranks_->sum(partial);
  on_.add_rows(partial, how, x);
}

void device_pass::linear_add(const at::Tensor& y, const device::projection& by, const device::residual& how,
                             const at::Tensor& x) {
  begun_norm_ = nullptr;
  if (!by.is_shard) {
    begun_ = x;
    if (how.next && x.size(0) <= scratch_.weighted.size(0))
      begun_ = {x, part_of(scratch_.weighted, x.size(0), x.size(1)), scratch_.squares.narrow(0, 0, x.size(0))};
    if (on_.linear_add(y, by, how, begun_)) begun_norm_ = how.next;
    return;
  }
  const auto partial = part_of(scratch_.partial, x.size(0), x.size(1));
  on_.norm_linear(y, {}, by, partial);
  ranks_->sum(partial);
  on_.add_rows(partial, how, x);
}

}  // namespace cogen::nn
