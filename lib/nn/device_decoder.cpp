#include "nn/device_decoder.hpp"

#include "layers/qkv_rows.hpp"
#include "nn/device_parts.hpp"
#include "nn/device_rotation.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace cogen::nn {

namespace {

struct device_attention {
  device::projection qkv;
  device::projection output;
  device::attention_shape shape;
  std::size_t rotation;  // index into the network's
  int layer;             // of the cache
};

struct device_mlp {
  device::projection gate_up;
  device::projection down;
};

struct device_block {
  device::rms_norm before;
  std::variant<device_attention, device_mlp> what;
};

/// The widest buffers that any block needs.
struct widths {
  std::int64_t qkv = 0;
  std::int64_t attended = 0;
  std::int64_t gated = 0;
};

std::int64_t bytes_of(const device::projection& of) {
  return static_cast<std::int64_t>(of.weights.nbytes() + (of.scales.defined() ? of.scales.nbytes() : 0));
}

class device_decoder final : public device_network {
 public:
  device_decoder(const models::model_spec& spec, const load::model_config& config, device_weights& weights)
      : hidden_(config.hidden), positions_(config.max_positions), specs_(models::kv_cache_specs(spec)) {
    const layers::named_rows table{spec.embedding.names.front() + ".weight", config.vocabulary};
    embedding_ = weights.matrix(std::span(&table, 1), hidden_);
    for (const auto& block : spec.blocks) read(block, weights);
    norm_ = read(*spec.final_norm, weights);
    head_ = embedding_;
    if (!spec.head.names.empty()) {
      const layers::named_rows own{spec.head.names.front() + ".weight", config.vocabulary};
      head_ = weights.matrix(std::span(&own, 1), hidden_);
    }
  }

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }
  std::int64_t weight_bytes() const noexcept override { return bytes_ + static_cast<std::int64_t>(head_.nbytes()); }
  at::ScalarType type() const noexcept override { return embedding_.scalar_type(); }
  at::Device device() const noexcept override { return embedding_.device(); }

  device_scratch make_scratch(std::int64_t tokens, bool sinks) const override {
    const auto rows_of = [&](std::int64_t width, at::ScalarType type) {
      return at::empty({tokens, width}, at::TensorOptions(device()).dtype(type));
    };
    return {.x = rows_of(hidden_, at::kFloat),
            .qkv = rows_of(widest_.qkv, type()),
            .sink_q = sinks ? rows_of(widest_.attended, type()) : at::Tensor(),
            .attended = rows_of(widest_.attended, type()),
            .gated = rows_of(widest_.gated, type())};
  }

  at::Tensor forward(device::operators& on, const device::step_rows& rows, const at::Tensor& last,
                     const at::Tensor& outputs, const device_memory& memory,
                     const device_scratch& scratch) const override {
    auto space = scratch;
    on.embed(embedding_, rows, last, space.x);
    for (const auto& block : blocks_) {
      if (const auto* attention = std::get_if<device_attention>(&block.what)) {
        attend(on, rows, block.before, *attention, memory, space);
        if (outputs.defined() && attention->layer + 1 == static_cast<int>(specs_.size())) space = chosen(space, outputs);
        if (space.x.size(0) == 0) break;
        on.linear_add(space.attended, attention->output, space.x);
      } else {
        const auto& mlp = std::get<device_mlp>(block.what);
        on.norm_gated(space.x, block.before, mlp.gate_up, space.gated);
        on.linear_add(space.gated, mlp.down, space.x);
      }
    }
    return space.x;
  }

  void score(device::operators& on, const at::Tensor& rows, const at::Tensor& logits) const override {
    on.norm_linear(rows, norm_, {.weights = head_, .bias = {}}, logits);
  }

 private:
  void attend(device::operators& on, const device::step_rows& rows, const device::rms_norm& before,
              const device_attention& attention, const device_memory& memory, const device_scratch& space) const {
    const auto& kept = memory.cache.layer(attention.layer);
    on.norm_linear(space.x, before, attention.qkv, space.qkv);
    const device::qkv_rows numbers{space.qkv, space.sink_q};
    if (memory.prefetcher) memory.prefetcher->wait_layer(attention.layer);
    on.rotate_and_append(numbers, attention.shape, rotations_[attention.rotation].second, rows, kept);
    if (memory.prefetcher) memory.prefetcher->store_layer(attention.layer);
    on.attend(numbers, attention.shape, rows, kept, space.attended);
  }

  void read(const models::block_spec& spec, device_weights& weights) {
    const auto before = read(*spec.before, weights);
    if (const auto* attention = std::get_if<models::attention_spec>(&spec.what))
      blocks_.push_back({before, read(*attention, spec.prefix, weights)});
    else
      blocks_.push_back({before, read(std::get<models::mlp_spec>(spec.what), spec.prefix, weights)});
  }

  device_attention read(const models::attention_spec& spec, const std::string& prefix, device_weights& weights) {
    widest_.qkv = std::max(widest_.qkv, spec.q_width() + 2 * spec.kv_width());
    widest_.attended = std::max(widest_.attended, spec.q_width());
    return {.qkv = projection(layers::qkv_rows(spec, prefix), hidden_, spec.qkv_bias, weights),
            .output = projection({{.name = prefix + spec.output, .rows = hidden_, .transposed = spec.transposed}},
                                 spec.q_width(), spec.output_bias, weights),
            .shape = {.heads = spec.heads,
                      .kv_heads = spec.kv_heads,
                      .head_dim = spec.head_dim,
                      .scale = static_cast<float>(spec.scale)},
            .rotation = rotation(spec.rope->config),
            .layer = layers_++};
  }

  device_mlp read(const models::mlp_spec& spec, const std::string& prefix, device_weights& weights) {
    widest_.gated = std::max(widest_.gated, spec.intermediate);
    std::vector<layers::named_rows> up{{.name = prefix + spec.gate, .rows = spec.intermediate},
                                       {.name = prefix + spec.up, .rows = spec.intermediate}};
    if (spec.gate == spec.up) up = {{.name = prefix + spec.up, .rows = 2 * spec.intermediate}};
    for (auto& part : up) part.transposed = spec.transposed;
    return {.gate_up = projection(std::move(up), hidden_, spec.bias, weights),
            .down = projection({{.name = prefix + spec.down, .rows = hidden_, .transposed = spec.transposed}},
                               spec.intermediate, spec.bias, weights)};
  }

  device::rms_norm read(const models::norm_spec& spec, device_weights& weights) const {
    const layers::named_rows weight{spec.name + ".weight", hidden_};
    return {weights.vector(std::span(&weight, 1)), spec.epsilon};
  }

  device::projection projection(std::vector<layers::named_rows> parts, std::int64_t inputs, bool biased,
                                device_weights& weights) {
    const auto named = [&](const char* end) {
      auto all = parts;
      for (auto& part : all) part.name += end;
      return all;
    };
    auto read = weights.projection(named(".weight"), inputs);
    if (biased) read.bias = weights.vector(named(".bias"));
    bytes_ += bytes_of(read);
    return read;
  }

  std::size_t rotation(const load::rope_config& config) {
    const auto found = std::ranges::find(rotations_, config, &std::pair<load::rope_config, device::rotation>::first);
    const auto index = static_cast<std::size_t>(found - rotations_.begin());
    if (index == rotations_.size()) rotations_.emplace_back(config, make_rotation(config, positions_, device()));
    return index;
  }

  /// The rows with wanted logits, behind the last attention.
  static device_scratch chosen(const device_scratch& all, const at::Tensor& outputs) {
    auto rest = all.first(outputs.size(0));
    rest.x = at::index_select(all.x, 0, outputs);
    rest.attended = at::index_select(all.attended, 0, outputs);
    return rest;
  }

  const std::int64_t hidden_;
  const std::int64_t positions_;
  const std::vector<cache::kv_cache_spec> specs_;
  at::Tensor embedding_;
  std::vector<device_block> blocks_;
  device::rms_norm norm_;
  at::Tensor head_;
  std::vector<std::pair<load::rope_config, device::rotation>> rotations_;
  widths widest_;
  int layers_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace

device_scratch device_scratch::first(std::int64_t tokens) const {
  return {.x = x.narrow(0, 0, tokens),
          .qkv = qkv.narrow(0, 0, tokens),
          .sink_q = sink_q.defined() ? sink_q.narrow(0, 0, tokens) : sink_q,
          .attended = attended.narrow(0, 0, tokens),
          .gated = gated.narrow(0, 0, tokens)};
}

std::unique_ptr<const device_network> make_device_decoder(const models::model_spec& spec,
                                                          const load::model_config& config, device_weights& weights) {
  refuse_what_devices_lack(spec);
  return std::make_unique<const device_decoder>(spec, config, weights);
}

}  // namespace cogen::nn
