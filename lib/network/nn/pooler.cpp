#include "network/nn/pooler.hpp"

#include "network/kernels/rounded.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace cogen::nn {

namespace {

using models::dense_spec;
using models::norm_spec;
using models::pooling_spec;

float applied(dense_spec::function function, float x) {
  switch (function) {
    case dense_spec::function::tanh:
      return kernels::rounded_tanh(x);
    case dense_spec::function::gelu:
      return 0.5F * x * (1 + kernels::rounded_erf(x / std::numbers::sqrt2_v<float>));
    case dense_spec::function::relu:
      return std::max(x, 0.0F);
    case dense_spec::function::none:
      return x;
  }
  return x;
}

double mean_square(std::span<const float> x, double mean) {
  double sum = 0;
  for (const float each : x) sum += (each - mean) * (each - mean);
  return sum / static_cast<double>(x.size());
}

double mean_of(std::span<const float> x) {
  double sum = 0;
  for (const float each : x) sum += each;
  return sum / static_cast<double>(x.size());
}

/// Rows one after the other, added up in that order and divided by their number.
std::vector<float> mean_row(std::span<const float> rows, std::size_t width) {
  std::vector<float> sum(width);
  for (std::size_t i = 0; i < rows.size(); ++i) sum[i % width] += rows[i];
  const auto count = rows.size() / width;
  for (auto& each : sum) each /= static_cast<float>(count);
  return sum;
}

void divide_by_length(std::span<float> x) {
  const auto length = std::sqrt(mean_square(x, 0) * static_cast<double>(x.size()));
  for (auto& each : x) each = static_cast<float>(each / std::max(length, 1e-12));
}

}  // namespace

vector_norm::vector_norm(const norm_spec& spec, std::int64_t width, const weights::read_numbers& read)
    : spec_(spec), weight_(read(spec.name + ".weight", {width})) {
  if (spec.bias) bias_ = read(spec.name + ".bias", {width});
}

void vector_norm::operator()(std::span<float> x) const {
  const auto mean = spec_.type == norm_spec::kind::layer ? mean_of(x) : 0.0;
  const auto scale = 1 / std::sqrt(mean_square(x, mean) + spec_.epsilon);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto normed =
        static_cast<float>((x[i] - mean) * scale) * (spec_.weight_scale * weight_[i] + spec_.weight_offset);
    x[i] = bias_.empty() ? normed : normed + bias_[i];
  }
}

vector_dense::vector_dense(const dense_spec& spec, const weights::read_numbers& read) : spec_(spec) {
  const auto rows = read(spec.name + ".weight", {spec.outputs, spec.inputs});
  const auto inputs = static_cast<std::size_t>(spec.inputs), outputs = static_cast<std::size_t>(spec.outputs);
  columns_.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) columns_[i % inputs * outputs + i / inputs] = rows[i];
  bias_ = spec.bias ? read(spec.name + ".bias", {spec.outputs}) : std::vector<float>(outputs);
  if (spec.norm) norm_.emplace(*spec.norm, spec.outputs, read);
}

std::vector<float> vector_dense::operator()(std::span<const float> x) const {
  std::vector<float> y(bias_.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float* column = columns_.data() + i * y.size();
    for (std::size_t output = 0; output < y.size(); ++output) y[output] += x[i] * column[output];
  }
  for (std::size_t output = 0; output < y.size(); ++output)
    y[output] = applied(spec_.activation, y[output] + bias_[output]);
  if (norm_) (*norm_)(y);
  return y;
}

pooler::pooler(const models::model_spec& spec, std::int64_t hidden, const weights::read_numbers& read)
    : spec_(spec.pooling.value()), hidden_(static_cast<std::size_t>(hidden)), width_(hidden) {
  if (spec.final_norm) norm_.emplace(*spec.final_norm, hidden, read);
  for (const auto& each : spec_.dense) {
    dense_.emplace_back(each, read);
    width_ = each.outputs;
  }
}

void pooler::add_read_tokens(int first, int count, std::vector<int>& outputs) const {
  switch (spec_.type) {
    case pooling_spec::kind::cls:
      return outputs.push_back(first);
    case pooling_spec::kind::last:
      return outputs.push_back(first + count - 1);
    case pooling_spec::kind::mean:
      for (int token = first; token < first + count; ++token) outputs.push_back(token);
  }
}

void pooler::operator()(std::span<float> states, std::span<float> out) const {
  if (norm_)
    for (std::size_t offset = 0; offset < states.size(); offset += hidden_) (*norm_)(states.subspan(offset, hidden_));
  auto vector = mean_row(states, hidden_);
  for (const auto& dense : dense_) vector = dense(vector);
  if (spec_.normalize) divide_by_length(vector);
  std::ranges::copy(vector, out.begin());
}

}  // namespace cogen::nn
