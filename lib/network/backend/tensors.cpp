#include "network/backend/tensors.hpp"

#include "network/backend/tensor_weights.hpp"
#include "network/backend/text_span.hpp"

#include <ATen/ops/index_select.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>

namespace cogen::device {

namespace {

std::int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
}

head_norm norm_of(const models::attention_spec& spec, const std::vector<float>& weights,
                  const std::vector<float>& biases, int heads, at::Device device) {
  using scope = models::qk_norm_spec::scope;
  const auto& qk_spec = *spec.qk_norm;
  const auto of_all = [&](const std::vector<float>& numbers) {
    if (numbers.empty()) return at::Tensor();
    const auto stored = at::tensor(numbers).to(device);
    return qk_spec.over == scope::head ? stored.repeat({heads}) : stored;
  };
  return {{.weight = of_all(weights),
           .epsilon = qk_spec.epsilon,
           .weight_offset = qk_spec.weight_offset,
           .is_layer_norm = qk_spec.type == models::norm_spec::kind::layer,
           .bias = of_all(biases)},
          qk_spec.over == scope::width ? std::int64_t{heads} * spec.head_dim : spec.head_dim};
}

attention_shape shape_of(const models::attention_spec& spec, at::Device device) {
  attention_shape shape{.heads = spec.heads,
                        .kv_heads = spec.kv_heads,
                        .head_dim = spec.head_dim,
                        .scale = static_cast<float>(spec.scale),
                        .softcap = spec.softcap,
                        .clip = spec.qkv_clip,
                        .output_gate = spec.output_gate,
                        .first_rotated = spec.rope ? spec.rope->first_dim : 0,
                        .latent_dim = spec.kv.latent_dim,
                        .shares_kv = spec.shared_kv.has_value(),
                        .within_text = span_within_text(spec)};
  if (spec.alibi) shape.slopes = at::tensor(spec.alibi->slopes).to(device);
  if (spec.query_growth) {
    shape.growth = spec.query_growth->beta;
    shape.growth_length = spec.query_growth->length;
    shape.growth_offset = spec.query_growth->offset;
  }
  return shape;
}

}  // namespace

heads::heads(const tensor_weights& weights, const models::attention_spec& spec, const weights::head_numbers& numbers,
             rotations angles)
    : shape(shape_of(spec, weights.device())), turn(std::move(angles)) {
  const auto device = weights.device();
  if (!numbers.sink_logits.empty()) shape.sink_logits = at::tensor(numbers.sink_logits).to(device);
  if (spec.relative_bias) shape.distance_biases = at::tensor(numbers.distance_biases).view({spec.heads, -1}).to(device);
  if (!spec.qk_norm) return;
  shape.q_norm = norm_of(spec, numbers.q_norm, numbers.q_norm_bias, spec.heads, device);
  if (!spec.shared_kv) shape.k_norm = norm_of(spec, numbers.k_norm, numbers.k_norm_bias, spec.kv_heads, device);
  if (spec.qk_norm->values && !spec.shared_kv)
    shape.v_norm = {{.weight = at::ones({spec.kv_width()}, device), .epsilon = spec.qk_norm->epsilon}, spec.head_dim};
  shape.norms_after_rotation = spec.qk_norm->after_rope;
}

projection rows_of(const projection& linear, const at::Tensor& indices) {
  projection result{.weights = at::index_select(linear.weights, 0, indices), .packing = linear.packing};
  if (linear.scales.defined()) result.scales = at::index_select(linear.scales, 0, indices);
  return result;
}

projection outputs_of(const projection& linear, std::int64_t first, std::int64_t count) {
  const auto some = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.narrow(0, first, count) : tensor;
  };
  return {.weights = some(linear.weights),
          .bias = some(linear.bias),
          .scales = some(linear.scales),
          .packing = linear.packing};
}

tensors::stacked tensors::stack(const std::vector<projection*>& projections) {
  if (std::ranges::any_of(projections, [](const auto* linear) { return linear->scales.defined(); })) return {};
  const auto as_one = [&](at::Tensor projection::*member) {
    std::vector<at::Tensor> values;
    for (const auto* linear : projections) values.push_back(linear->*member);
    const auto result = at::stack(values);
    for (std::size_t index = 0; index < projections.size(); ++index)
      projections[index]->*member = result.select(0, static_cast<std::int64_t>(index));
    return result;
  };
  return {.weights = as_one(&projection::weights),
          .bias = projections.front()->bias.defined() ? as_one(&projection::bias) : at::Tensor()};
}

std::int64_t tensors::bytes(const projection& linear) {
  auto bytes = bytes_of(linear.weights) + bytes_of(linear.scales);
  for (const auto& each : linear.adapters) bytes += bytes_of(each.down) + bytes_of(each.up);
  return bytes;
}
std::int64_t tensors::bytes(const norm& params) { return bytes_of(params.weight) + bytes_of(params.bias); }

}  // namespace cogen::device
