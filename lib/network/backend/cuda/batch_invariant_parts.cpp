#include "network/backend/cuda/batch_invariant_parts.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace cogen::device {

namespace {

void check(const norm& by) {
  if (!by.weight.defined()) return;
  if (by.is_layer_norm) refuse_batch_invariant("layer norms");
  if (by.weight_offset != 0 || by.bias.defined()) refuse_batch_invariant("norms with an offset or a bias");
}

void check_none(const norm& by, std::string_view which) {
  if (by.weight.defined()) refuse_batch_invariant(which);
}

void check(const projection& by) {
  if (!by.adapters.empty()) refuse_batch_invariant("adapters");
}

void check(const parts::activation& how) {
  if (how.gate_cutoff) refuse_batch_invariant("gates that are cut off");
}

void check(const residual& how) {
  check_none(how.after, "norms of a block's result");
  check_none(how.post, "norms of a sum");
}

/// Of queries, keys and values, before they are multiplied.
void check_rows(const attention_shape& shape) {
  for (const auto* each : {&shape.q_norm, &shape.k_norm, &shape.v_norm})
    check_none(each->by, "norms of queries, keys or values");
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
  explicit batch_invariant_parts(std::unique_ptr<operators> by) : by_(std::move(by)) {}

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
    check_none(from.after, "norms of embeddings");
    by_->embed(from, rows, last, x);
  }

  void find_vectors(const embedding& from, const step_rows& rows, const at::Tensor& last,
                    const at::Tensor& found) override {
    by_->find_vectors(from, rows, last, found);
  }

  void finish_embedding(const embedding& from, const step_rows& rows, const at::Tensor& found,
                        const at::Tensor& x) override {
    check_none(from.after, "norms of embeddings");
    by_->finish_embedding(from, rows, found, x);
  }

  void norm_linear(const norm_input& x, const norm& before, const projection& by, const at::Tensor& y) override {
    check(before);
    check(by);
    by_->norm_linear(x, before, by, y);
  }

  void norm_activated(const norm_input& x, const norm& before, const projection& by, const parts::activation& how,
                      const at::Tensor& y) override {
    check(before);
    check(by);
    check(how);
    by_->norm_activated(x, before, by, how, y);
  }

  bool linear_add(const at::Tensor& y, const projection& by, const residual& how, const norm_input& into) override {
    check(by);
    check(how);
    return by_->linear_add(y, by, how, into);
  }

  void add_rows(const at::Tensor& rows, const residual& how, const at::Tensor& x) override {
    check(how);
    by_->add_rows(rows, how, x);
  }

  void score(const at::Tensor& x, const norm& before, const head& by, const at::Tensor& logits) override {
    check(before);
    by_->score(x, before, by, logits);
  }

  void rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                         const step_rows& rows, const cache::device_layer& layer) override {
    check_rows(shape);
    by_->rotate_and_append(numbers, shape, turn, rows, layer);
  }

  void attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    check_scores(shape, layer.span);
    by_->attend(numbers, shape, rows, layer, out);
  }

  void sample(const at::Tensor& logits, const step_sampling& how, const at::Tensor& last,
              const step_samples& samples) override {
    by_->sample(logits, how, last, samples);
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

  const std::unique_ptr<operators> by_;
};

}  // namespace

std::unique_ptr<operators> make_batch_invariant_parts(std::unique_ptr<operators> by) {
  return std::make_unique<batch_invariant_parts>(std::move(by));
}

void refuse_batch_invariant(std::string_view parts) {
  throw std::invalid_argument(
      fmt::format("engine_options.batch_invariant is set; CUDA devices do not compute {} so", parts));
}

}  // namespace cogen::device
