#include "network/backend/reference/one_row_operators.hpp"

#include <ATen/TensorOperators.h>

#include <utility>

namespace cogen::device {

namespace {

/// One row of tensors that have as many of them.
class row {
 public:
  explicit row(std::int64_t index) : index_(index) {}

  at::Tensor of(const at::Tensor& all) const { return all.defined() ? all.narrow(0, index_, 1) : all; }

  /// A copy: a library may add in an order that depends on where numbers lie.
  at::Tensor copy_of(const at::Tensor& all) const { return all.defined() ? of(all).clone() : all; }
  norm_input copy_of(const norm_input& all) const {
    return {copy_of(all.x), copy_of(all.weighted), copy_of(all.squares)};
  }

  step_rows of(const step_rows& all) const {
    step_rows one;
    one.ids = of(all.ids);
    one.slots = of(all.slots);
    one.positions = of(all.positions);
    one.encoder_lengths = of(all.encoder_lengths);
    one.single = 1;
    return one;
  }

 private:
  const std::int64_t index_;
};

template <class Call>
void for_each_row(const at::Tensor& of, const Call& call) {
  for (std::int64_t index = 0; index < of.size(0); ++index) call(row(index));
}

class one_row_operators final : public operators {
 public:
  explicit one_row_operators(std::unique_ptr<operators> by) : by_(std::move(by)) {}

  std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                    std::int64_t head_dim) override {
    return by_->quantized_head_bytes(keys, values, head_dim);
  }
  cache::quantized_head quantized_head_numbers(const cache::group_format& keys, const cache::group_format& values,
                                               std::int64_t head_dim) const override {
    return by_->quantized_head_numbers(keys, values, head_dim);
  }

  quantized_rows pack(const quantized_rows& rows) override { return by_->pack(rows); }

  void embed(const embedding& from, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) override {
    for_each_row(x, [&](const row& one) { by_->embed(from, one.of(rows), last, one.of(x)); });
  }

  void find_vectors(const embedding& from, const step_rows& rows, const at::Tensor& last,
                    const at::Tensor& found) override {
    for_each_row(found, [&](const row& one) { by_->find_vectors(from, one.of(rows), last, one.of(found)); });
  }

  void finish_embedding(const embedding& from, const step_rows& rows, const at::Tensor& found,
                        const at::Tensor& x) override {
    for_each_row(x, [&](const row& one) { by_->finish_embedding(from, one.of(rows), one.copy_of(found), one.of(x)); });
  }

  void norm_linear(const norm_input& x, const norm& before, const projection& by, const at::Tensor& y) override {
    for_each_row(x.x, [&](const row& one) { by_->norm_linear(one.copy_of(x), before, by, one.of(y)); });
  }

  void norm_activated(const norm_input& x, const norm& before, const projection& by, const parts::activation& how,
                      const at::Tensor& y) override {
    for_each_row(x.x, [&](const row& one) { by_->norm_activated(one.copy_of(x), before, by, how, one.of(y)); });
  }

  bool linear_add(const at::Tensor& y, const projection& by, const residual& how, const norm_input& into) override {
    for_each_row(into.x, [&](const row& one) { by_->linear_add(one.copy_of(y), by, how, one.of(into.x)); });
    return false;
  }

  void read_layer_inputs(const layer_inputs& from, const step_rows& rows, const at::Tensor& last, const at::Tensor& x,
                         const at::Tensor& into) override {
    for_each_row(
        x, [&](const row& one) { by_->read_layer_inputs(from, one.of(rows), last, one.copy_of(x), one.of(into)); });
  }

  void gate_layer_input(const at::Tensor& x, const norm& before, const layer_input& by, const at::Tensor& inputs,
                        const at::Tensor& y) override {
    for_each_row(
        x, [&](const row& one) { by_->gate_layer_input(one.copy_of(x), before, by, one.copy_of(inputs), one.of(y)); });
  }

  void low_rank(const at::Tensor& x, const norm& before, const device::low_rank& by, const at::Tensor& y) override {
    for_each_row(x, [&](const row& one) { by_->low_rank(one.copy_of(x), before, by, one.of(y)); });
  }

  void start_streams(const streams& by, const at::Tensor& x, const at::Tensor& all) override {
    for_each_row(x, [&](const row& one) { by_->start_streams(by, one.copy_of(x), one.of(all)); });
  }

  void step_streams(const stream_step& by, const at::Tensor& all, const at::Tensor& x) override {
    for_each_row(x, [&](const row& one) { by_->step_streams(by, one.of(all), one.of(x)); });
  }

  void join_streams(const streams& by, const at::Tensor& all, const at::Tensor& x) override {
    for_each_row(x, [&](const row& one) { by_->join_streams(by, one.copy_of(all), one.of(x)); });
  }

  void linear_add_to_streams(const at::Tensor& y, const projection& by, const norm& after,
                             const at::Tensor& all) override {
    for_each_row(y, [&](const row& one) { by_->linear_add_to_streams(one.copy_of(y), by, after, one.of(all)); });
  }

  void add_rows(const at::Tensor& rows, const residual& how, const at::Tensor& x) override {
    for_each_row(x, [&](const row& one) { by_->add_rows(one.copy_of(rows), how, one.of(x)); });
  }

  void route(const at::Tensor& x, const norm& before, const mixture_of_experts& by, const at::Tensor& normed,
             const at::Tensor& shares) override {
    for_each_row(x, [&](const row& one) { by_->route(one.copy_of(x), before, by, one.of(normed), one.of(shares)); });
  }

  void add_experts(const at::Tensor& normed, const at::Tensor& shares, const mixture_of_experts& by,
                   const residual& how, const at::Tensor& x) override {
    for_each_row(
        x, [&](const row& one) { by_->add_experts(one.copy_of(normed), one.copy_of(shares), by, how, one.of(x)); });
  }

  void score(const at::Tensor& x, const norm& before, const head& by, const at::Tensor& logits) override {
    for_each_row(x, [&](const row& one) { by_->score(one.copy_of(x), before, by, one.of(logits)); });
  }

  void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                         const step_rows& rows, const cache::device_layer& layer) override {
    for_each_row(numbers.qkv, [&](const row& one) {
      by_->rotate_and_append({one.of(numbers.qkv), one.of(numbers.sink_q)}, shape, turn, one.of(rows), layer);
    });
  }

  void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out, [&](const row& one) {
      by_->attend({one.copy_of(numbers.qkv), one.copy_of(numbers.sink_q)}, shape, one.of(rows), layer, one.of(out));
    });
  }

  void attend_to_encoder_input(const at::Tensor& q, const attention_shape& shape, const step_rows& rows,
                               const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out, [&](const row& one) {
      by_->attend_to_encoder_input(one.copy_of(q), shape, one.of(rows), layer, one.of(out));
    });
  }

  void attend_within_rows(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn,
                          const step_rows& rows, const at::Tensor& out) override {
    by_->attend_within_rows(qkv, shape, turn, rows, out);
  }

  void store_encoder_input(const at::Tensor& kv, const attention_shape& shape, const step_rows& rows,
                           const cache::device_layer& layer) override {
    by_->store_encoder_input(kv, shape, rows, layer);
  }

  void absorb(const at::Tensor& in, const latent_attention& by, const at::Tensor& rows) override {
    for_each_row(in, [&](const row& one) { by_->absorb(one.copy_of(in), by, one.of(rows)); });
  }

  void expand(const at::Tensor& sums, const latent_attention& by, const at::Tensor& out) override {
    for_each_row(sums, [&](const row& one) { by_->expand(one.copy_of(sums), by, one.of(out)); });
  }

  void scan(const at::Tensor& x_and_gate, const selective_scan& by, const step_rows& rows,
            const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out,
                 [&](const row& one) { by_->scan(one.copy_of(x_and_gate), by, one.of(rows), layer, one.of(out)); });
  }

  void mix(const mixer_rows& numbers, const mixer& by, const step_rows& rows, const cache::device_layer& layer,
           const at::Tensor& out) override {
    for_each_row(out, [&](const row& one) {
      by_->mix({one.copy_of(numbers.in), one.copy_of(numbers.decisions)}, by, one.of(rows), layer, one.of(out));
    });
  }

  void mix_times(const at::Tensor& x, const norm& before, const time_mix& by, const step_rows& rows,
                 const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out,
                 [&](const row& one) { by_->mix_times(one.copy_of(x), before, by, one.of(rows), layer, one.of(out)); });
  }

  void mix_channels(const at::Tensor& x, const norm& before, const channel_mix& by, const step_rows& rows,
                    const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(
        out, [&](const row& one) { by_->mix_channels(one.copy_of(x), before, by, one.of(rows), layer, one.of(out)); });
  }

  void sample(const at::Tensor& logits, const step_sampling& how, const at::Tensor& last,
              const step_samples& samples) override {
    by_->sample(logits, how, last, samples);
  }

 private:
  const std::unique_ptr<operators> by_;
};

}  // namespace

std::unique_ptr<operators> make_one_row_operators(std::unique_ptr<operators> by) {
  return std::make_unique<one_row_operators>(std::move(by));
}

}  // namespace cogen::device
