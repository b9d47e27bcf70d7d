#include "nn/device_decoder.hpp"

#include "nn/device_reader.hpp"
#include "nn/device_rotation.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

namespace cogen::nn {

namespace {

/// Rotations in caches with room for up to original_positions tokens in a slot, and in larger ones.
struct rotations {
  load::rope_config config;
  device::rotation up_to;
  device::rotation beyond;

  const device::rotation& in(const cache::device_cache& cache) const {
    return cache.max_sequence_length() > config.original_positions ? beyond : up_to;
  }
};

struct device_attention {
  device::norm before;
  device::projection qkv;
  device::projection output;
  device::residual how;
  device::attention_shape shape;
  std::optional<std::size_t> rotation;  // index into the network's
  int layer;                            // of the cache
};

struct device_mlp {
  device::norm before;
  device::projection up;
  device::activation_shape activation;
  device::projection down;
  device::residual how;
  bool parallel;  // it reads what the attention before it read
};

/// The widest buffers that any block needs.
struct widths {
  std::int64_t qkv = 0;
  std::int64_t attended = 0;
  std::int64_t inner = 0;
};

std::int64_t bytes_of(const device::projection& of) {
  if (!of.weights.defined()) return 0;
  return static_cast<std::int64_t>(of.weights.nbytes() + (of.scales.defined() ? of.scales.nbytes() : 0));
}

/// The first columns of a buffer as wide as the widest block's.
at::Tensor columns(const at::Tensor& of, std::int64_t count) { return of.narrow(1, 0, count); }

class device_decoder final : public device_network {
 public:
  device_decoder(const models::model_spec& spec, const load::model_config& config, device_weights& weights)
      : hidden_(config.hidden), positions_(config.max_positions), specs_(models::kv_cache_specs(spec)) {
    const device_reader read(config, weights);
    embedding_ = read.embedding(spec.embedding);
    for (const auto& block : spec.blocks) add(block, read);
    norm_ = read.norm(spec.final_norm);
    head_ = read.head(spec.head, embedding_);
  }

  const std::vector<cache::kv_cache_spec>& kv_cache_specs() const noexcept override { return specs_; }
  std::int64_t weight_bytes() const noexcept override { return bytes_ + bytes_of(head_.product); }
  at::ScalarType type() const noexcept override { return embedding_.table.scalar_type(); }
  at::Device device() const noexcept override { return embedding_.table.device(); }

  device_scratch make_scratch(std::int64_t tokens, bool sinks) const override {
    const auto rows_of = [&](std::int64_t width, at::ScalarType type) {
      return at::empty({tokens, width}, at::TensorOptions(device()).dtype(type));
    };
    return {.x = rows_of(hidden_, at::kFloat),
            .qkv = rows_of(widest_.qkv, type()),
            .sink_q = sinks ? rows_of(widest_.attended, type()) : at::Tensor(),
            .attended = rows_of(widest_.attended, type()),
            .gated = rows_of(widest_.inner, type())};
  }

  at::Tensor forward(device::operators& on, const device::step_rows& rows, const at::Tensor& last,
                     const at::Tensor& outputs, const device_memory& memory,
                     const device_scratch& scratch) const override {
    auto space = scratch;
    on.embed(embedding_, rows, last, space.x);
    for (std::size_t index = 0; index < blocks_.size(); ++index) {
      if (const auto* mlp = std::get_if<device_mlp>(&blocks_[index])) {
        begin(on, *mlp, space);
        end(on, *mlp, space);
        continue;
      }
      const auto& attention = std::get<device_attention>(blocks_[index]);
      attend(on, rows, attention, memory, space);
      if (outputs.defined() && attention.layer + 1 == static_cast<int>(specs_.size())) space = chosen(space, outputs);
      if (space.x.size(0) == 0) break;
      const auto* beside = index + 1 < blocks_.size() ? std::get_if<device_mlp>(&blocks_[index + 1]) : nullptr;
      const bool together = beside && beside->parallel;
      if (together) begin(on, *beside, space);
      on.linear_add(columns(space.attended, width_of(attention.shape)), attention.output, attention.how, space.x);
      if (together) end(on, *beside, space), ++index;
    }
    return space.x;
  }

  void score(device::operators& on, const at::Tensor& rows, const at::Tensor& logits) const override {
    on.score(rows, norm_, head_, logits);
  }

 private:
  static std::int64_t width_of(const device::attention_shape& shape) { return shape.heads * shape.head_dim; }

  void attend(device::operators& on, const device::step_rows& rows, const device_attention& attention,
              const device_memory& memory, const device_scratch& space) const {
    static const device::rotation none;
    const auto& shape = attention.shape;
    const auto& kept = memory.cache.layer(attention.layer);
    const device::qkv_rows numbers{columns(space.qkv, (shape.heads + 2 * shape.kv_heads) * shape.head_dim),
                                   space.sink_q.defined() ? columns(space.sink_q, width_of(shape)) : space.sink_q};
    on.norm_linear(space.x, attention.before, attention.qkv, numbers.qkv);
    if (memory.prefetcher) memory.prefetcher->wait_layer(attention.layer);
    on.rotate_and_append(numbers, shape, attention.rotation ? rotations_[*attention.rotation].in(memory.cache) : none,
                         rows, kept);
    if (memory.prefetcher) memory.prefetcher->store_layer(attention.layer);
    on.attend(numbers, shape, rows, kept, columns(space.attended, width_of(shape)));
  }

  static at::Tensor inner(const device_mlp& mlp, const device_scratch& space) {
    const auto width = mlp.up.weights.size(0) / (mlp.activation.gated ? 2 : 1);
    return columns(space.gated, width);
  }

  static void begin(device::operators& on, const device_mlp& mlp, const device_scratch& space) {
    on.norm_activated(space.x, mlp.before, mlp.up, mlp.activation, inner(mlp, space));
  }

  static void end(device::operators& on, const device_mlp& mlp, const device_scratch& space) {
    on.linear_add(inner(mlp, space), mlp.down, mlp.how, space.x);
  }

  void add(const models::block_spec& spec, const device_reader& read) {
    const device::residual how{read.norm(spec.after), spec.residual_scale, read.norm(spec.post)};
    if (const auto* attention = std::get_if<models::attention_spec>(&spec.what)) {
      widest_.qkv = std::max(widest_.qkv, attention->q_width() + 2 * attention->kv_width());
      widest_.attended = std::max(widest_.attended, attention->q_width());
      device_attention made{.before = read.norm(spec.before),
                            .qkv = read.qkv(*attention, spec.prefix),
                            .output = read.output(*attention, spec.prefix),
                            .how = how,
                            .shape = read.shape(*attention, spec.prefix),
                            .rotation = rotation(attention->rope),
                            .layer = layers_++};
      bytes_ += bytes_of(made.qkv) + bytes_of(made.output);
      blocks_.emplace_back(std::move(made));
      return;
    }
    const auto& mlp = std::get<models::mlp_spec>(spec.what);
    widest_.inner = std::max(widest_.inner, mlp.intermediate);
    device_mlp made{.before = read.norm(spec.before),
                    .up = read.up(mlp, spec.prefix),
                    .activation = read.activation(mlp, spec.prefix),
                    .down = read.down(mlp, spec.prefix),
                    .how = how,
                    .parallel = spec.parallel};
    bytes_ += bytes_of(made.up) + bytes_of(made.down);
    blocks_.emplace_back(std::move(made));
  }

  std::optional<std::size_t> rotation(const std::optional<models::rope_spec>& spec) {
    if (!spec) return std::nullopt;
    const auto found = std::ranges::find(rotations_, spec->config, &rotations::config);
    const auto index = static_cast<std::size_t>(found - rotations_.begin());
    if (index < rotations_.size()) return index;
    const auto made = make_rotation(spec->config, positions_, device());
    const bool two = spec->config.kind == load::rope_kind::longrope;
    const auto beyond =
        two ? make_rotation(spec->config, positions_, device(), spec->config.original_positions + 1) : made;
    rotations_.push_back({spec->config, made, beyond});
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
  device::embedding embedding_;
  std::vector<std::variant<device_attention, device_mlp>> blocks_;
  device::norm norm_;
  device::head head_;
  std::vector<rotations> rotations_;
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
  return std::make_unique<const device_decoder>(spec, config, weights);
}

}  // namespace cogen::nn
