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

std::int64_t bytes_of(const at::Tensor& of) { return of.defined() ? static_cast<std::int64_t>(of.nbytes()) : 0; }

head_norm norm_of(const models::attention_spec& spec, const std::vector<float>& weights,
                  const std::vector<float>& biases, int heads, at::Device device) {
  using scope = models::qk_norm_spec::scope;
  const auto& how = *spec.qk_norm;
  const auto of_all = [&](const std::vector<float>& numbers) {
    if (numbers.empty()) return at::Tensor();
    const auto stored = at::tensor(numbers).to(device);
    return how.over == scope::head ? stored.repeat({heads}) : stored;
  };
  return {{.weight = of_all(weights),
           .epsilon = how.epsilon,
           .weight_offset = how.weight_offset,
           .is_layer_norm = how.type == models::norm_spec::kind::layer,
           .bias = of_all(biases)},
          how.over == scope::width ? std::int64_t{heads} * spec.head_dim : spec.head_dim};
}

attention_shape shape_of(const models::attention_spec& spec, at::Device device) {
  attention_shape made{.heads = spec.heads,
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
  if (spec.alibi) made.slopes = at::tensor(spec.alibi->slopes).to(device);
  if (spec.query_growth) {
    made.growth = spec.query_growth->beta;
    made.growth_length = spec.query_growth->length;
    made.growth_offset = spec.query_growth->offset;
  }
  return made;
}

}  // namespace

heads::heads(const tensor_weights& weights, const models::attention_spec& spec, const weights::head_numbers& numbers,
             rotations by)
    : shape(shape_of(spec, weights.device())), turn(std::move(by)) {
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

projection rows_of(const projection& all, const at::Tensor& indices) {
  projection made{.weights = at::index_select(all.weights, 0, indices), .packing = all.packing};
  if (all.scales.defined()) made.scales = at::index_select(all.scales, 0, indices);
  return made;
}

projection outputs_of(const projection& all, std::int64_t first, std::int64_t count) {
  const auto some = [&](const at::Tensor& of) { return of.defined() ? of.narrow(0, first, count) : of; };
  return {.weights = some(all.weights), .bias = some(all.bias), .scales = some(all.scales), .packing = all.packing};
}

tensors::stacked tensors::stack(const std::vector<projection*>& all) {
  if (std::ranges::any_of(all, [](const auto* one) { return one->scales.defined(); })) return {};
  const auto as_one = [&](at::Tensor projection::*of) {
    std::vector<at::Tensor> each;
    for (const auto* one : all) each.push_back(one->*of);
    const auto made = at::stack(each);
    for (std::size_t index = 0; index < all.size(); ++index)
      all[index]->*of = made.select(0, static_cast<std::int64_t>(index));
    return made;
  };
  return {.weights = as_one(&projection::weights),
          .bias = all.front()->bias.defined() ? as_one(&projection::bias) : at::Tensor()};
}

std::int64_t tensors::bytes(const projection& of) {
  auto bytes = bytes_of(of.weights) + bytes_of(of.scales);
  for (const auto& each : of.adapters) bytes += bytes_of(each.down) + bytes_of(each.up);
  return bytes;
}
std::int64_t tensors::bytes(const norm& of) { return bytes_of(of.weight) + bytes_of(of.bias); }

}  // namespace cogen::device
