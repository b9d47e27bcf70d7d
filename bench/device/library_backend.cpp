#include "library_backend.hpp"

#include "network/backend/tensor/tensor_operators.hpp"

#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/where.h>

#include <optional>
#include <utility>

namespace cogen::bench {

namespace {

class library_operators final : public device::tensor_operators {
 public:
  explicit library_operators(std::unique_ptr<device::operators> own) : own_(std::move(own)) {}

  std::int64_t quantized_head_bytes(const cache::group_format& keys, const cache::group_format& values,
                                    std::int64_t head_dim) override {
    return own_->quantized_head_bytes(keys, values, head_dim);
  }

  device::quantized_rows pack(const device::quantized_rows& rows) override { return own_->pack(rows); }

  void embed(const device::embedding& embeddings, const device::step_rows& rows, const at::Tensor& last,
             const at::Tensor& x) override {
    const auto sampled = at::index_select(last, 0, rows.slots.clamp_min(0));
    x.copy_(at::index_select(embeddings.table.weights, 0, at::where(rows.ids < 0, sampled, rows.ids)));
  }

  void norm_linear(const device::norm_input& input, const device::norm& pre_norm, const device::projection& linear,
                   const at::Tensor& y) override {
    auto out = y;
    if (y.scalar_type() == at::kFloat)
      at::mm_out(out, normed(input.x, pre_norm, linear), linear.weights.t(), at::kFloat);
    else
      out.copy_(multiplied(normed(input.x, pre_norm, linear), linear));
  }

  void norm_activated(const device::norm_input& input, const device::norm& pre_norm, const device::projection& linear,
                      const parts::activation&, const at::Tensor& y) override {
    const auto both = multiplied(normed(input.x, pre_norm, linear), linear);
    const auto width = y.size(1);
    y.copy_(at::silu(both.narrow(1, 0, width)) * both.narrow(1, width, width));
  }

  bool linear_add(const at::Tensor& y, const device::projection& linear, const device::residual&,
                  const device::norm_input& output) override {
    output.x.add_(multiplied(y, linear));
    return false;
  }

  void score(const at::Tensor& x, const device::norm& pre_norm, const device::head& lm_head,
             const at::Tensor& logits) override {
    norm_linear(x, pre_norm, lm_head.product, logits);
  }

  /// Of caches that keep every token, and positions whose angles are looked up.
  void rotate_and_append(const device::qkv_rows& numbers, const device::attention_shape& shape,
                         const device::rotation& turn, const device::step_rows& rows,
                         const cache::device_layer& layer) override {
    const auto heads = numbers.qkv.unflatten(1, {shape.heads + 2 * shape.kv_heads, shape.head_dim});
    const auto turning = heads.narrow(1, 0, shape.heads + shape.kv_heads);
    const auto angles = at::index_select(turn.near, 0, rows.positions).unsqueeze(1);
    const auto pairs = angles.size(2) / 2;
    const auto cosines = angles.narrow(2, 0, pairs);
    const auto sines = angles.narrow(2, pairs, pairs);
    const auto low = turning.narrow(2, 0, pairs);
    const auto high = turning.narrow(2, pairs, pairs);
    turning.copy_(at::cat({low * cosines - high * sines, high * cosines + low * sines}, 2));
    const c10::List<std::optional<at::Tensor>> where(
        {rows.slots.clamp_min(0).to(at::kLong), rows.positions.to(at::kLong)});
    layer.keys.index_put_(where, heads.narrow(1, shape.heads, shape.kv_heads));
    layer.values.index_put_(where, heads.narrow(1, shape.heads + shape.kv_heads, shape.kv_heads));
  }

  void attend(const device::qkv_rows& numbers, const device::attention_shape& shape, const device::step_rows& rows,
              const cache::device_layer& layer, const at::Tensor& out) override {
    if (!rows.prompts.empty()) return own_->attend(numbers, shape, rows, layer, out);
    const auto width = layer.keys.stride(1);
    const auto in_one_row = [&](const at::Tensor& tensor) {
      const auto left =
          static_cast<std::int64_t>(tensor.storage().nbytes()) / tensor.element_size() - layer.values.storage_offset();
      return tensor.as_strided({left / width, shape.kv_heads, shape.head_dim}, {width, shape.head_dim, 1});
    };
    const auto queries =
        numbers.qkv.narrow(1, 0, shape.heads * shape.head_dim).unflatten(1, {shape.heads, shape.head_dim});
    const auto like = rows.slots.options();
    const auto starts = at::arange(rows.single + 1, like);
    const auto origins =
        at::cat({rows.slots.clamp_min(0) * (layer.keys.stride(0) / width), rows.slots.narrow(0, 0, 1)});
    const auto attended = std::get<0>(at::_flash_attention_forward(
        queries, in_one_row(layer.keys), in_one_row(layer.values), starts, origins, 1, layer.keys.size(1),
        /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false, std::optional<double>(shape.scale),
        std::nullopt, std::nullopt, rows.positions + 1));
    out.copy_(attended.flatten(1));
  }

  void scan(const at::Tensor& x_and_gate, const device::selective_scan& mamba, const device::step_rows& rows,
            const cache::device_layer& layer, const at::Tensor& out) override {
    own_->scan(x_and_gate, mamba, rows, layer, out);
  }

  void sample(const at::Tensor& logits, const device::step_sampling& sampling, const at::Tensor& last,
              const device::step_samples& samples) override {
    own_->sample(logits, sampling, last, samples);
  }

 private:
  bool multiplies_groups(const at::Tensor&) const override { return false; }

  static at::Tensor normed(const at::Tensor& x, const device::norm& pre_norm, const device::projection& next) {
    return at::rms_norm(x, {x.size(1)}, pre_norm.weight.to(at::kFloat), pre_norm.epsilon)
        .to(next.weights.scalar_type());
  }

  static at::Tensor multiplied(const at::Tensor& x, const device::projection& linear) {
    return linear.bias.defined() ? at::addmm(linear.bias, x, linear.weights.t()) : at::mm(x, linear.weights.t());
  }

  const std::unique_ptr<device::operators> own_;
};

class library_backend final : public device::backend {
 public:
  explicit library_backend(std::shared_ptr<const device::backend> base) : base_(std::move(base)) {}

  at::Device device() const override { return base_->device(); }
  std::string description() const override { return base_->description() + ", LibTorch's operators"; }
  std::unique_ptr<device::stream> make_stream() const override { return base_->make_stream(); }
  std::unique_ptr<device::operators> make_operators() const override {
    return std::make_unique<library_operators>(base_->make_operators());
  }
  at::Tensor make_host(std::int64_t bytes) const override { return base_->make_host(bytes); }
  std::int64_t free_bytes() const override { return base_->free_bytes(); }
  void allocate(const std::function<void()>& work) const override { base_->allocate(work); }
  std::int64_t max_vocabulary() const override { return base_->max_vocabulary(); }
  void synchronize() const override { base_->synchronize(); }
  device::prompt_attention_counts prompt_attention() const override { return base_->prompt_attention(); }

 private:
  const std::shared_ptr<const device::backend> base_;
};

}  // namespace

std::shared_ptr<const device::backend> with_library_operators(std::shared_ptr<const device::backend> base) {
  return std::make_shared<const library_backend>(std::move(base));
}

}  // namespace cogen::bench
