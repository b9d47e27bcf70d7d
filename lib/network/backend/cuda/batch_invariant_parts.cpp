#include "network/backend/cuda/batch_invariant_parts.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace cogen::device {

namespace {

void check(const norm& params) {
  if (!params.weight.defined()) return;
  if (params.is_layer_norm) refuse_batch_invariant("layer norms");
  if (params.weight_offset != 0 || params.bias.defined()) refuse_batch_invariant("norms with an offset or a bias");
}

void check_none(const norm& params, std::string_view which) {
  if (params.weight.defined()) refuse_batch_invariant(which);
}

void check(const projection& linear) {
  if (!linear.adapters.empty()) refuse_batch_invariant("adapters");
}

void check(const parts::activation& function) {
  if (function.gate_cutoff) refuse_batch_invariant("gates that are cut off");
}

void check(const residual& update) {
  check_none(update.after, "norms of a block's result");
  check_none(update.post, "norms of a sum");
}

/// Of queries, keys and values, before they are multiplied.
void check_rows(const attention_shape& shape) {
  for (const auto* each : {&shape.q_norm, &shape.k_norm, &shape.v_norm})
    check_none(each->params, "norms of queries, keys or values");
  if (shape.latent_dim > 0) refuse_batch_invariant("latent attention");
}

void check_scores(const attention_shape& shape, const cache::attention_span& span) {
  if (shape.softcap > 0) refuse_batch_invariant("scores with a cap");
  if (shape.sink_logits.defined()) refuse_batch_invariant("scores of sinks");
  if (shape.slopes.defined() || shape.distance_biases.defined())
    refuse_batch_invariant("scores with biases of distances");
  if (span.chunk > 0) refuse_batch_invariant("attention within chunks");
}

class batch_invariant_parts final : public operators {
 public:
  explicit batch_invariant_parts(std::unique_ptr<operators> ops) : ops_(std::move(ops)) {}

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
    check_none(embeddings.after, "norms of embeddings");
    ops_->embed(embeddings, rows, last, x);
  }

  void find_vectors(const embedding& embeddings, const step_rows& rows, const at::Tensor& last,
                    const at::Tensor& found) override {
    ops_->find_vectors(embeddings, rows, last, found);
  }

  void finish_embedding(const embedding& embeddings, const step_rows& rows, const at::Tensor& found,
                        const at::Tensor& x) override {
    check_none(embeddings.after, "norms of embeddings");
    ops_->finish_embedding(embeddings, rows, found, x);
  }

  void norm_linear(const norm_input& x, const norm& pre_norm, const projection& linear, const at::Tensor& y) override {
    check(pre_norm);
    check(linear);
    ops_->norm_linear(x, pre_norm, linear, y);
  }

  void norm_activated(const norm_input& x, const norm& pre_norm, const projection& linear,
                      const parts::activation& function, const at::Tensor& y) override {
    check(pre_norm);
    check(linear);
    check(function);
    ops_->norm_activated(x, pre_norm, linear, function, y);
  }

  bool linear_add(const at::Tensor& y, const projection& linear, const residual& update,
                  const norm_input& output) override {
    check(linear);
    check(update);
    return ops_->linear_add(y, linear, update, output);
  }

  void add_rows(const at::Tensor& rows, const residual& update, const at::Tensor& x) override {
    check(update);
    ops_->add_rows(rows, update, x);
  }

  void score(const at::Tensor& x, const norm& pre_norm, const head& lm_head, const at::Tensor& logits) override {
    check(pre_norm);
    ops_->score(x, pre_norm, lm_head, logits);
  }

  void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                         const step_rows& rows, const cache::device_layer& layer) override {
    check_rows(shape);
    ops_->rotate_and_append(numbers, shape, turn, rows, layer);
  }

  void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    check_scores(shape, layer.span);
    ops_->attend(numbers, shape, rows, layer, out);
  }

  void sample(const at::Tensor& logits, const step_sampling& params, const at::Tensor& last,
              const step_samples& samples) override {
    ops_->sample(logits, params, last, samples);
  }

  void read_layer_inputs(const layer_inputs&, const step_rows&, const at::Tensor&, const at::Tensor&,
                         const at::Tensor&) override {
    refuse_batch_invariant("inputs of layers");
  }
  void gate_layer_input(const at::Tensor&, const norm&, const layer_input&, const at::Tensor&,
                        const at::Tensor&) override {
    refuse_batch_invariant("inputs of layers");
  }
  void low_rank(const at::Tensor&, const norm&, const device::low_rank&, const at::Tensor&) override {
    refuse_batch_invariant("products of low rank");
  }
  void start_streams(const streams&, const at::Tensor&, const at::Tensor&) override { refuse_streams(); }
  void step_streams(const stream_step&, const at::Tensor&, const at::Tensor&) override { refuse_streams(); }
  void join_streams(const streams&, const at::Tensor&, const at::Tensor&) override { refuse_streams(); }
  void linear_add_to_streams(const at::Tensor&, const projection&, const norm&, const at::Tensor&) override {
    refuse_streams();
  }
  void route(const at::Tensor&, const norm&, const mixture_of_experts&, const at::Tensor&, const at::Tensor&) override {
    refuse_batch_invariant("experts");
  }
  void add_experts(const at::Tensor&, const at::Tensor&, const mixture_of_experts&, const residual&,
                   const at::Tensor&) override {
    refuse_batch_invariant("experts");
  }
  void attend_to_encoder_input(const at::Tensor&, const attention_shape&, const step_rows&, const cache::device_layer&,
                               const at::Tensor&) override {
    refuse_encoder();
  }
  void attend_within_rows(const at::Tensor&, const attention_shape&, const rotation&, const step_rows&,
                          const at::Tensor&) override {
    refuse_encoder();
  }
  void store_encoder_input(const at::Tensor&, const attention_shape&, const step_rows&,
                           const cache::device_layer&) override {
    refuse_encoder();
  }
  void absorb(const at::Tensor&, const latent_attention&, const at::Tensor&) override {
    refuse_batch_invariant("latent attention");
  }
  void expand(const at::Tensor&, const latent_attention&, const at::Tensor&) override {
    refuse_batch_invariant("latent attention");
  }
  void scan(const at::Tensor&, const selective_scan&, const step_rows&, const cache::device_layer&,
            const at::Tensor&) override {
    refuse_states();
  }
  void mix(const mixer_rows&, const mixer&, const step_rows&, const cache::device_layer&, const at::Tensor&) override {
    refuse_states();
  }
  void mix_times(const at::Tensor&, const norm&, const time_mix&, const step_rows&, const cache::device_layer&,
                 const at::Tensor&) override {
    refuse_states();
  }
  void mix_channels(const at::Tensor&, const norm&, const channel_mix&, const step_rows&, const cache::device_layer&,
                    const at::Tensor&) override {
    refuse_states();
  }

 private:
  [[noreturn]] static void refuse_streams() { refuse_batch_invariant("streams of hidden states"); }
  [[noreturn]] static void refuse_encoder() { refuse_batch_invariant("encoders"); }
  [[noreturn]] static void refuse_states() { refuse_batch_invariant("recurrent layers"); }

  const std::unique_ptr<operators> ops_;
};

}  // namespace

std::unique_ptr<operators> make_batch_invariant_parts(std::unique_ptr<operators> ops) {
  return std::make_unique<batch_invariant_parts>(std::move(ops));
}

void refuse_batch_invariant(std::string_view parts) {
  throw std::invalid_argument(
      fmt::format("engine_options.batch_invariant is set; CUDA devices do not compute {} so", parts));
}

}  // namespace cogen::device
