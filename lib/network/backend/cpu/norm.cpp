#include "network/backend/cpu/norm.hpp"

#include "network/backend/cpu/row_arithmetic.hpp"
#include "network/kernels/layer_norm.hpp"

#include <utility>

namespace cogen::cpu {

namespace {

using kind = models::norm_spec::kind;

std::vector<norm> norms_of(const models::attention_spec& spec, const std::vector<float>& weights,
                           const std::vector<float>& biases) {
  const auto& qk_spec = *spec.qk_norm;
  const models::norm_spec params{
      .name = "", .epsilon = qk_spec.epsilon, .type = qk_spec.type, .weight_offset = qk_spec.weight_offset};
  if (qk_spec.over == models::qk_norm_spec::scope::width) return {norm(params, weights, biases)};
  const auto of_head = [&](const std::vector<float>& values, std::size_t first) {
    const auto width = static_cast<std::size_t>(spec.head_dim);
    return values.empty() ? values : std::vector<float>(values.begin() + first, values.begin() + first + width);
  };
  std::vector<norm> norms;
  for (std::size_t first = 0; first < weights.size(); first += static_cast<std::size_t>(spec.head_dim))
    norms.emplace_back(params, of_head(weights, first), of_head(biases, first));
  return norms;
}

}  // namespace

norm::norm(const models::norm_spec& spec, std::vector<float> weight, std::vector<float> bias)
    : type_(spec.type),
      epsilon_(static_cast<float>(spec.epsilon)),
      weight_offset_(spec.weight_offset),
      weight_(std::move(weight)),
      bias_(std::move(bias)) {
  if (type_ == kind::rms) return;
  for (auto& value : weight_) value += weight_offset_;
  bias_.resize(weight_.size());
}

void norm::operator()(const forward_context& context, const activations& x, const activations& out) const {
  type_ == kind::rms ? kernels::rms_norm(context.run, operands(x, out)) : layer_norm(context, x, out);
}

void norm::add(const forward_context& context, const activations& x, const activations& out) const {
  if (type_ == kind::rms) {
    auto added = operands(x, out);
    added.add_to_out = true;
    return kernels::rms_norm(context.run, added);
  }
  const arena::scope scratch(context.space);
  const auto normed = context.space.take(x.rows, x.columns);
  layer_norm(context, x, normed);
  add_rows(context, normed, 1, out);
}

std::optional<kernels::rms_norm_rows> norm::prologue(const forward_context& context, const activations& x,
                                                     const activations& out) const {
  if (type_ == kind::layer) return std::nullopt;
  return kernels::rms_norm_rows(context.run, operands(x, out));
}

kernels::rms_norm_operands norm::operands(const activations& x, const activations& out) const {
  const auto width = static_cast<std::int64_t>(weight_.size());
  return {.x = x,
          .weight = weight_.data(),
          .weight_offset = weight_offset_,
          .epsilon = epsilon_,
          .out = out,
          .rows = x.rows,
          .vectors = x.columns / width,
          .width = width};
}

void norm::layer_norm(const forward_context& context, const activations& x, const activations& out) const {
  const auto width = static_cast<std::int64_t>(weight_.size());
  for (std::int64_t first = 0; first < x.columns; first += width)
    kernels::layer_norm(context.run, {.x = x.columns_from(first, width),
                                      .weight = weight_.data(),
                                      .bias = bias_.data(),
                                      .epsilon = epsilon_,
                                      .out = out.columns_from(first, width),
                                      .rows = x.rows,
                                      .width = width});
}

void norm_parts(const std::vector<norm>& norms, const forward_context& context, const activations& x) {
  if (norms.empty()) return;
  const auto width = x.columns / static_cast<std::int64_t>(norms.size());
  for (std::size_t index = 0; index < norms.size(); ++index) {
    const auto part = x.columns_from(static_cast<std::int64_t>(index) * width, width);
    norms[index](context, part, part);
  }
}

qk_norm::qk_norm(const models::attention_spec& spec, const weights::head_numbers& numbers)
    : q_(norms_of(spec, numbers.q_norm, numbers.q_norm_bias)), k_(norms_of(spec, numbers.k_norm, numbers.k_norm_bias)) {
  if (spec.qk_norm->values && !spec.shared_kv)
    v_.emplace_back(models::norm_spec{.name = "", .epsilon = spec.qk_norm->epsilon},
                    std::vector<float>(static_cast<std::size_t>(spec.head_dim), 1.0F));
}

void qk_norm::operator()(const forward_context& context, const activations& q, const activations& k,
                         const activations& v) const {
  norm_parts(q_, context, q);
  norm_parts(k_, context, k);
  norm_parts(v_, context, v);
}

}  // namespace cogen::cpu
