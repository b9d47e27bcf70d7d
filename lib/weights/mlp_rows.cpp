#include "weights/mlp_rows.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cogen::weights {

namespace {

std::string prefix_of(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert) {
  return spec.stacked ? prefix : fmt::format("{}experts.{}.", prefix, expert);
}

void find_in_stack(const models::moe_spec& spec, std::int64_t expert, named_rows& rows) {
  if (!spec.stacked) return;
  rows.stack = spec.experts;
  rows.is_complete = spec.bare;
  rows.index = expert;
}

}  // namespace

std::vector<named_rows> up_rows(const models::mlp_spec& spec, const std::string& prefix) {
  const auto width = spec.intermediate;
  const named_rows up{.name = prefix + spec.up, .rows = width, .transposed = spec.transposed};
  if (spec.gate.empty()) return {up};
  if (spec.gate == spec.up) return {{.name = prefix + spec.up, .rows = 2 * width, .transposed = spec.transposed}};
  return {{.name = prefix + spec.gate, .rows = width, .transposed = spec.transposed}, up};
}

std::vector<named_rows> up_rows(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert) {
  auto all = up_rows(spec.expert, prefix_of(spec, prefix, expert));
  for (auto& rows : all) find_in_stack(spec, expert, rows);
  return all;
}

named_rows down_rows(const models::mlp_spec& spec, const std::string& prefix, std::int64_t outputs) {
  return {.name = prefix + spec.down, .rows = outputs, .transposed = spec.transposed};
}

named_rows down_rows(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert,
                     std::int64_t outputs) {
  auto rows = down_rows(spec.expert, prefix_of(spec, prefix, expert), outputs);
  find_in_stack(spec, expert, rows);
  return rows;
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
