#include "network/backend/reference/one_row_operators.hpp"

#include <ATen/TensorOperators.h>

#include <utility>

namespace cogen::device {

namespace {

/// One row of tensors that have as many of them.
class row {
 public:
  explicit row(std::int64_t index) : index_(index) {}

  at::Tensor view(const at::Tensor& tensor) const { return tensor.defined() ? tensor.narrow(0, index_, 1) : tensor; }

  /// A copy: a library may add in an order that depends on where numbers lie.
  at::Tensor copy_of(const at::Tensor& tensor) const { return tensor.defined() ? view(tensor).clone() : tensor; }
  norm_input copy_of(const norm_input& input) const {
    return {copy_of(input.x), copy_of(input.weighted), copy_of(input.squares)};
  }

  step_rows view(const step_rows& rows) const {
    step_rows step;
    step.ids = view(rows.ids);
    step.slots = view(rows.slots);
    step.positions = view(rows.positions);
    step.encoder_lengths = view(rows.encoder_lengths);
    step.single = 1;
    return step;
  }

 private:
  const std::int64_t index_;
};

template <class Call>
void for_each_row(const at::Tensor& tensor, const Call& call) {
  for (std::int64_t index = 0; index < tensor.size(0); ++index) call(row(index));
}

class one_row_operators final : public operators {
 public:
  explicit one_row_operators(std::unique_ptr<operators> ops) : ops_(std::move(ops)) {}

  std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                    std::int64_t head_dim) override {
    return ops_->quantized_head_bytes(keys, values, head_dim);
  }
  cache::quantized_head quantized_head_numbers(const cache::group_format& keys, const cache::group_format& values,
                                               std::int64_t head_dim) const override {
    return ops_->quantized_head_numbers(keys, values, head_dim);
  }

  quantized_rows pack(const quantized_rows& rows) override { return ops_->pack(rows); }

  void embed(const embedding& embeddings, const step_rows& rows, const at::Tensor& last, const at::Tensor& x) override {
    for_each_row(x, [&](const row& slice) { ops_->embed(embeddings, slice.view(rows), last, slice.view(x)); });
  }

  void find_vectors(const embedding& embeddings, const step_rows& rows, const at::Tensor& last,
                    const at::Tensor& found) override {
    for_each_row(found,
                 [&](const row& slice) { ops_->find_vectors(embeddings, slice.view(rows), last, slice.view(found)); });
  }

  void finish_embedding(const embedding& embeddings, const step_rows& rows, const at::Tensor& found,
                        const at::Tensor& x) override {
    for_each_row(x, [&](const row& slice) {
      ops_->finish_embedding(embeddings, slice.view(rows), slice.copy_of(found), slice.view(x));
    });
  }

  void norm_linear(const norm_input& x, const norm& pre_norm, const projection& linear, const at::Tensor& y) override {
    for_each_row(x.x, [&](const row& slice) { ops_->norm_linear(slice.copy_of(x), pre_norm, linear, slice.view(y)); });
  }

  void norm_activated(const norm_input& x, const norm& pre_norm, const projection& linear,
                      const parts::activation& function, const at::Tensor& y) override {
    for_each_row(x.x, [&](const row& slice) {
      ops_->norm_activated(slice.copy_of(x), pre_norm, linear, function, slice.view(y));
    });
  }

  bool linear_add(const at::Tensor& y, const projection& linear, const residual& update,
                  const norm_input& output) override {
    for_each_row(output.x,
                 [&](const row& slice) { ops_->linear_add(slice.copy_of(y), linear, update, slice.view(output.x)); });
    return false;
  }

  void read_layer_inputs(const layer_inputs& vectors, const step_rows& rows, const at::Tensor& last,
                         const at::Tensor& x, const at::Tensor& out) override {
    for_each_row(x, [&](const row& slice) {
      ops_->read_layer_inputs(vectors, slice.view(rows), last, slice.copy_of(x), slice.view(out));
    });
  }

  void gate_layer_input(const at::Tensor& x, const norm& pre_norm, const layer_input& part, const at::Tensor& inputs,
                        const at::Tensor& y) override {
    for_each_row(x, [&](const row& slice) {
      ops_->gate_layer_input(slice.copy_of(x), pre_norm, part, slice.copy_of(inputs), slice.view(y));
    });
  }

  void low_rank(const at::Tensor& x, const norm& pre_norm, const device::low_rank& part, const at::Tensor& y) override {
    for_each_row(x, [&](const row& slice) { ops_->low_rank(slice.copy_of(x), pre_norm, part, slice.view(y)); });
  }

  void start_streams(const streams& part, const at::Tensor& x, const at::Tensor& states) override {
    for_each_row(x, [&](const row& slice) { ops_->start_streams(part, slice.copy_of(x), slice.view(states)); });
  }

  void step_streams(const stream_step& step, const at::Tensor& states, const at::Tensor& x) override {
    for_each_row(x, [&](const row& slice) { ops_->step_streams(step, slice.view(states), slice.view(x)); });
  }

  void join_streams(const streams& part, const at::Tensor& states, const at::Tensor& x) override {
    for_each_row(x, [&](const row& slice) { ops_->join_streams(part, slice.copy_of(states), slice.view(x)); });
  }

  void linear_add_to_streams(const at::Tensor& y, const projection& linear, const norm& after,
                             const at::Tensor& states) override {
    for_each_row(
        y, [&](const row& slice) { ops_->linear_add_to_streams(slice.copy_of(y), linear, after, slice.view(states)); });
  }

  void add_rows(const at::Tensor& rows, const residual& update, const at::Tensor& x) override {
    for_each_row(x, [&](const row& slice) { ops_->add_rows(slice.copy_of(rows), update, slice.view(x)); });
  }

  void route(const at::Tensor& x, const norm& pre_norm, const mixture_of_experts& moe, const at::Tensor& normed,
             const at::Tensor& shares) override {
    for_each_row(x, [&](const row& slice) {
      ops_->route(slice.copy_of(x), pre_norm, moe, slice.view(normed), slice.view(shares));
    });
  }

  void add_experts(const at::Tensor& normed, const at::Tensor& shares, const mixture_of_experts& moe,
                   const residual& update, const at::Tensor& x) override {
    for_each_row(x, [&](const row& slice) {
      ops_->add_experts(slice.copy_of(normed), slice.copy_of(shares), moe, update, slice.view(x));
    });
  }

  void score(const at::Tensor& x, const norm& pre_norm, const head& lm_head, const at::Tensor& logits) override {
    for_each_row(x, [&](const row& slice) { ops_->score(slice.copy_of(x), pre_norm, lm_head, slice.view(logits)); });
  }

  void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                         const step_rows& rows, const cache::device_layer& layer) override {
    for_each_row(numbers.qkv, [&](const row& slice) {
      ops_->rotate_and_append({slice.view(numbers.qkv), slice.view(numbers.sink_q)}, shape, turn, slice.view(rows),
                              layer);
    });
  }

  void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out, [&](const row& slice) {
      ops_->attend({slice.copy_of(numbers.qkv), slice.copy_of(numbers.sink_q)}, shape, slice.view(rows), layer,
                   slice.view(out));
    });
  }

  void attend_to_encoder_input(const at::Tensor& q, const attention_shape& shape, const step_rows& rows,
                               const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out, [&](const row& slice) {
      ops_->attend_to_encoder_input(slice.copy_of(q), shape, slice.view(rows), layer, slice.view(out));
    });
  }

  void attend_within_rows(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn,
                          const step_rows& rows, const at::Tensor& out) override {
    ops_->attend_within_rows(qkv, shape, turn, rows, out);
  }

  void store_encoder_input(const at::Tensor& kv, const attention_shape& shape, const step_rows& rows,
                           const cache::device_layer& layer) override {
    ops_->store_encoder_input(kv, shape, rows, layer);
  }

  void absorb(const at::Tensor& in, const latent_attention& part, const at::Tensor& rows) override {
    for_each_row(in, [&](const row& slice) { ops_->absorb(slice.copy_of(in), part, slice.view(rows)); });
  }

  void expand(const at::Tensor& sums, const latent_attention& part, const at::Tensor& out) override {
    for_each_row(sums, [&](const row& slice) { ops_->expand(slice.copy_of(sums), part, slice.view(out)); });
  }

  void scan(const at::Tensor& x_and_gate, const selective_scan& mamba, const step_rows& rows,
            const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out, [&](const row& slice) {
      ops_->scan(slice.copy_of(x_and_gate), mamba, slice.view(rows), layer, slice.view(out));
    });
  }

  void mix(const mixer_rows& numbers, const mixer& part, const step_rows& rows, const cache::device_layer& layer,
           const at::Tensor& out) override {
    for_each_row(out, [&](const row& slice) {
      ops_->mix({slice.copy_of(numbers.in), slice.copy_of(numbers.decisions)}, part, slice.view(rows), layer,
                slice.view(out));
    });
  }

  void mix_times(const at::Tensor& x, const norm& pre_norm, const time_mix& part, const step_rows& rows,
                 const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out, [&](const row& slice) {
      ops_->mix_times(slice.copy_of(x), pre_norm, part, slice.view(rows), layer, slice.view(out));
    });
  }

  void mix_channels(const at::Tensor& x, const norm& pre_norm, const channel_mix& part, const step_rows& rows,
                    const cache::device_layer& layer, const at::Tensor& out) override {
    for_each_row(out, [&](const row& slice) {
      ops_->mix_channels(slice.copy_of(x), pre_norm, part, slice.view(rows), layer, slice.view(out));
    });
  }

  void sample(const at::Tensor& logits, const step_sampling& params, const at::Tensor& last,
              const step_samples& samples) override {
    ops_->sample(logits, params, last, samples);
  }

 private:
  const std::unique_ptr<operators> ops_;
};

}  // namespace

std::unique_ptr<operators> make_one_row_operators(std::unique_ptr<operators> ops) {
  return std::make_unique<one_row_operators>(std::move(ops));
}

}  // namespace cogen::device
