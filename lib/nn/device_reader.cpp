#include "nn/device_reader.hpp"

#include "layers/mlp_rows.hpp"
#include "layers/qkv_rows.hpp"

#include <ATen/ops/tensor.h>

#include <utility>

namespace cogen::nn {

using layers::named_rows;

device::norm device_reader::norm(const std::optional<models::norm_spec>& spec) const {
  if (!spec) return {};
  return {.weight = vector(spec->name + ".weight", config_.hidden),
          .epsilon = spec->epsilon,
          .weight_offset = spec->weight_offset,
          .is_layer_norm = spec->type == models::norm_spec::kind::layer,
          .bias = spec->bias ? vector(spec->name + ".bias", config_.hidden) : at::Tensor()};
}

device::embedding device_reader::embedding(const models::embedding_spec& spec) const {
  const auto width = spec.width == 0 ? config_.hidden : spec.width;
  device::embedding made{.table = table(spec.names, width), .scale = static_cast<float>(spec.scale)};
  if (!spec.projection.empty())
    made.to_hidden = project({{.name = spec.projection, .rows = config_.hidden}}, width, false);
  if (spec.positions) {
    const auto& [name, offset] = *spec.positions;
    const named_rows rows{.name = name + ".weight",
                          .rows = config_.max_positions,
                          .stored = offset + config_.max_positions,
                          .runs = {{offset, config_.max_positions}}};
    made.positions = weights_.matrix(std::span(&rows, 1), config_.hidden);
  }
  made.after = norm(spec.norm);
  return made;
}

device::head device_reader::head(const models::head_spec& spec, const device::embedding& embedding) const {
  const auto width = spec.width == 0 ? config_.hidden : spec.width;
  device::head made{.product = {.weights = spec.names.empty() ? embedding.table : table(spec.names, width)},
                    .scale = static_cast<float>(spec.scale),
                    .softcap = spec.softcap};
  if (!spec.bias.empty()) made.product.bias = vector(spec.bias, config_.vocabulary);
  if (!spec.projection.empty())
    made.to_width = project({{.name = spec.projection, .rows = width}}, config_.hidden, false);
  return made;
}

device::projection device_reader::qkv(const models::attention_spec& spec, const std::string& prefix) const {
  return project(layers::qkv_rows(spec, prefix), config_.hidden, spec.qkv_bias);
}

device::projection device_reader::output(const models::attention_spec& spec, const std::string& prefix) const {
  return project({{.name = prefix + spec.output, .rows = config_.hidden, .transposed = spec.transposed}},
                 spec.q_width(), spec.output_bias);
}

device::attention_shape device_reader::shape(const models::attention_spec& spec, const std::string& prefix) const {
  device::attention_shape made{.heads = spec.heads,
                               .kv_heads = spec.kv_heads,
                               .head_dim = spec.head_dim,
                               .scale = static_cast<float>(spec.scale),
                               .softcap = spec.softcap,
                               .clip = spec.qkv_clip};
  if (spec.alibi) made.slopes = at::tensor(spec.alibi->slopes);
  if (spec.qk_norm) {
    made.q_norm = head_norm(spec, prefix + spec.qk_norm->q, spec.heads);
    made.k_norm = head_norm(spec, prefix + spec.qk_norm->k, spec.kv_heads);
    made.norms_after_rotation = spec.qk_norm->after_rope;
  }
  if (spec.query_growth) {
    made.growth = spec.query_growth->beta;
    made.growth_length = spec.query_growth->length;
  }
  return made;
}

device::head_norm device_reader::head_norm(const models::attention_spec& spec, const std::string& name,
                                           int heads) const {
  using scope = models::qk_norm_spec::scope;
  const auto& how = *spec.qk_norm;
  auto weight = at::tensor(layers::qk_norm_weights(spec, name, heads, weights_.number_reader()));
  if (how.over == scope::head) weight = weight.repeat({heads});
  return {{.weight = std::move(weight),
           .epsilon = how.epsilon,
           .weight_offset = how.weight_offset,
           .is_layer_norm = how.type == models::norm_spec::kind::layer},
          how.over == scope::width ? std::int64_t{heads} * spec.head_dim : spec.head_dim};
}

device::projection device_reader::up(const models::mlp_spec& spec, const std::string& prefix) const {
  return project(layers::up_rows(spec, prefix), config_.hidden, spec.bias);
}

device::projection device_reader::down(const models::mlp_spec& spec, const std::string& prefix) const {
  return project({{.name = prefix + spec.down, .rows = config_.hidden, .transposed = spec.transposed}},
                 spec.intermediate, spec.bias);
}

device::activation_shape device_reader::activation(const models::mlp_spec& spec, const std::string& prefix) const {
  return {.kind = spec.activation,
          .gated = !spec.gate.empty(),
          .parameters = layers::activation_parameters(spec, prefix, weights_.number_reader())};
}

at::Tensor device_reader::table(const std::vector<std::string>& names, std::int64_t width) const {
  const named_rows rows{.name = weights_.first_of(names), .rows = config_.vocabulary};
  return weights_.matrix(std::span(&rows, 1), width);
}

at::Tensor device_reader::vector(const std::string& name, std::int64_t size) const {
  const named_rows rows{.name = name, .rows = size};
  return weights_.vector(std::span(&rows, 1));
}

device::projection device_reader::project(std::vector<named_rows> parts, std::int64_t inputs, bool bias) const {
  const auto named = [&](const char* end) {
    auto all = parts;
    for (auto& part : all) part.name += end;
    return all;
  };
  auto read = weights_.projection(named(".weight"), inputs);
  if (bias) read.bias = weights_.vector(named(".bias"));
  return read;
}

}  // namespace cogen::nn
