#include "nn/device_reader.hpp"

#include "layers/mlp_rows.hpp"
#include "layers/qkv_rows.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  if (!spec.projection.empty()) made.to_width = project({{.name = spec.projection, .rows = width}}, config_.hidden, false);
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
                                           std::int64_t heads) const {
  using scope = models::qk_norm_spec::scope;
  const auto& how = *spec.qk_norm;
  const auto width = how.over == scope::width ? heads * spec.head_dim : spec.head_dim;
  std::vector<named_rows> parts;
  const auto add = [&](const std::string& from, std::int64_t first) {
    named_rows part{.name = from + ".weight", .rows = width, .runs = layers::head_order(spec)};
    if (how.over == scope::width) part.runs.clear();
    for (auto& run : part.runs) run.first += first;
    parts.push_back(std::move(part));
  };
  at::Tensor weight;
  if (how.over == scope::each_head && name.find("{}") == std::string::npos) {
    const auto stored = weights_.numbers(name + ".weight", {heads, spec.head_dim});
    std::vector<float> values;
    for (std::int64_t head = 0; head < heads; ++head)
      for (const auto& run : layers::head_order(spec))
        for (auto at = run.first; at < run.first + run.count; ++at)
          values.push_back(stored[static_cast<std::size_t>(head * spec.head_dim + at)]);
    weight = at::tensor(values);
  } else {
    for (std::int64_t head = 0; head < heads; ++head) {
      if (head > 0 && how.over == scope::width) break;
      add(fmt::format(fmt::runtime(name), head), 0);
    }
    weight = weights_.vector(parts);
  }
  return {{.weight = std::move(weight),
           .epsilon = how.epsilon,
           .weight_offset = how.weight_offset,
           .is_layer_norm = how.type == models::norm_spec::kind::layer},
          width};
}

device::projection device_reader::up(const models::mlp_spec& spec, const std::string& prefix) const {
  return project(layers::up_rows(spec, prefix), config_.hidden, spec.bias);
}

device::projection device_reader::down(const models::mlp_spec& spec, const std::string& prefix) const {
  return project({{.name = prefix + spec.down, .rows = config_.hidden, .transposed = spec.transposed}},
                 spec.intermediate, spec.bias);
}

device::activation_shape device_reader::activation(const models::mlp_spec& spec, const std::string& prefix) const {
  const auto parameters = layers::activation_parameters(
      spec, [&](const std::string& name, std::initializer_list<std::int64_t> shape) {
        return weights_.numbers(prefix + name, shape).front();
      });
  return {.kind = spec.activation, .gated = !spec.gate.empty(), .parameters = parameters};
}

at::Tensor device_reader::table(const std::vector<std::string>& names, std::int64_t width) const {
  const auto found = std::ranges::find_if(names, [&](const auto& name) { return weights_.has(name + ".weight"); });
  const named_rows rows{.name = (found == names.end() ? names.front() : *found) + ".weight", .rows = config_.vocabulary};
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
