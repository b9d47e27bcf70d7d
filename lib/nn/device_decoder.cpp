#include "nn/device_decoder.hpp"

#include "nn/blocks.hpp"
#include "nn/device_pass.hpp"
#include "nn/part_reader.hpp"
#include "nn/weight_bytes.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

namespace cogen::nn {

namespace {

using device::tensors;
using tensor_reader = part_reader<tensors, device::tensor_weights>;

class device_decoder final : public device_network {
 public:
  device_decoder(const models::model_spec& spec, const load::model_config& config, tensor_reader read)
      : hidden_(config.hidden),
        specs_(models::kv_cache_specs(spec)),
        embedding_(read.read(spec.embedding)),
        blocks_(read.read(spec.blocks)),
        norm_(read.read(spec.final_norm)),
        head_(read.read(spec.head, spec.embedding)) {}

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }
  std::int64_t weight_bytes() const noexcept override {
    return bytes_of(blocks_) + tensors::bytes(norm_) + tensors::bytes(head_.product);
  }
  at::ScalarType type() const noexcept override { return embedding_.table.scalar_type(); }
  at::Device device() const noexcept override { return embedding_.table.device(); }

  device_scratch make_scratch(std::int64_t tokens, bool sinks) const override {
    const auto rows_of = [&](std::int64_t width, at::ScalarType type) {
      return at::empty({tokens, width}, at::TensorOptions(device()).dtype(type));
    };
    std::int64_t qkv = 0, attended = 0, inner = 0, experts = 0;
    for (const auto& block : blocks_.all()) {
      if (const auto* attention = std::get_if<parts::attention<tensors>>(&block.what)) {
        qkv = std::max(qkv, attention->heads.qkv_width());
        attended = std::max(attended, attention->heads.q_width());
      } else if (const auto* latent = std::get_if<parts::latent_attention<tensors>>(&block.what)) {
        qkv = std::max({qkv, latent->heads.qkv_width(), latent->out_width()});
        attended = std::max({attended, latent->heads.q_width(), latent->in_width()});
      } else if (const auto* mamba = std::get_if<parts::mamba<tensors>>(&block.what)) {
        qkv = std::max(qkv, mamba->scan.in_width());
        attended = std::max(attended, mamba->scan.channels());
      } else if (const auto* mlp = std::get_if<parts::mlp<tensors>>(&block.what)) {
        inner = std::max(inner, mlp->intermediate);
      } else {
        const auto& mixture = std::get<parts::mixture_of_experts<tensors>>(block.what);
        experts = std::max(experts, static_cast<std::int64_t>(mixture.experts.size()));
      }
    }
    return {.x = rows_of(hidden_, at::kFloat),
            .qkv = rows_of(qkv, type()),
            .sink_q = sinks ? rows_of(attended, type()) : at::Tensor(),
            .attended = rows_of(attended, type()),
            .gated = rows_of(inner, type()),
            .routed = rows_of(experts > 0 ? hidden_ : 0, at::kFloat),
            .shares = rows_of(experts, at::kFloat)};
  }

  at::Tensor forward(device::operators& by, const device::step_rows& rows, const at::Tensor& last,
                     const at::Tensor& outputs, const device_memory& memory,
                     const device_scratch& scratch) const override {
    const device_pass on(by, rows, outputs, memory, scratch);
    return blocks_.run(on, on.embed(embedding_, last));
  }

  void score(device::operators& on, const at::Tensor& rows, const at::Tensor& logits) const override {
    on.score(rows, norm_, head_, logits);
  }

 private:
  std::int64_t hidden_;
  std::vector<cache::kv_cache_spec> specs_;
  device::embedding embedding_;
  blocks<tensors> blocks_;
  device::norm norm_;
  device::head head_;
};

}  // namespace

device_scratch device_scratch::first(std::int64_t tokens) const {
  return {.x = x.narrow(0, 0, tokens),
          .qkv = qkv.narrow(0, 0, tokens),
          .sink_q = sink_q.defined() ? sink_q.narrow(0, 0, tokens) : sink_q,
          .attended = attended.narrow(0, 0, tokens),
          .gated = gated.narrow(0, 0, tokens),
          .routed = routed.narrow(0, 0, tokens),
          .shares = shares.narrow(0, 0, tokens)};
}

std::unique_ptr<const device_network> make_device_decoder(const models::model_spec& spec,
                                                          const load::model_config& config,
                                                          device::tensor_weights& weights) {
  return std::make_unique<const device_decoder>(spec, config, tensor_reader(config, weights));
}

}  // namespace cogen::nn
