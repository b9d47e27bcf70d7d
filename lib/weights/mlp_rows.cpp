#include "weights/mlp_rows.hpp"

#include <cmath>

namespace cogen::weights {

std::vector<named_rows> up_rows(const models::mlp_spec& spec, const std::string& prefix) {
  const auto width = spec.intermediate;
  const named_rows up{.name = prefix + spec.up, .rows = width, .transposed = spec.transposed};
  if (spec.gate.empty()) return {up};
  if (spec.gate == spec.up) return {{.name = prefix + spec.up, .rows = 2 * width, .transposed = spec.transposed}};
  return {{.name = prefix + spec.gate, .rows = width, .transposed = spec.transposed}, up};
}

std::array<float, 4> activation_parameters(const models::mlp_spec& spec, const std::string& prefix,
                                           const read_numbers& read) {
  if (spec.activation != kernels::activation::xielu) return {};
  const auto softplus = [](float x) { return std::log1p(std::exp(x)); };
  const auto number = [&](const char* name, std::initializer_list<std::int64_t> shape) {
    return read(prefix + "act_fn." + name, shape).front();
  };
  const float beta = number("beta", {}), eps = number("eps", {});
  return {softplus(number("alpha_p", {1})), beta + softplus(number("alpha_n", {1})), beta, eps};
}

}  // namespace cogen::weights
