#include "network/weights/mlp_rows.hpp"

#include "network/kernels/rounded.hpp"

#include <fmt/format.h>

#include <cmath>

namespace cogen::weights {

namespace {

/// Of one matrix with the rows of both, gate first or every other row one of the gate.
std::vector<row_run> gate_then_up(const models::mlp_spec& spec) {
  const auto first = spec.columns.first, width = spec.intermediate, stored = spec.all_columns();
  if (!spec.interleaved) return {{first, width}, {stored + first, width}};
  std::vector<row_run> runs;
  for (const std::int64_t odd : {0, 1})
    for (std::int64_t row = first; row < first + width; ++row) runs.push_back({2 * row + odd, 1});
  return runs;
}

std::string prefix_of(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert) {
  return spec.stacked ? prefix : fmt::format("{}experts.{}.", prefix, expert);
}

void find_in_stack(const models::moe_spec& spec, std::int64_t expert, named_rows& rows) {
  if (!spec.stacked) return;
  rows.stack = spec.experts;
  rows.index = expert;
}

}  // namespace

models::moe_spec as_stored(models::moe_spec spec, const std::string& prefix,
                           const std::function<bool(const std::string&)>& has) {
  if (spec.stacked || spec.expert.gate.empty() || !has(prefix + "experts.gate_up_proj")) return spec;
  spec.stacked = true;
  spec.expert.gate = spec.expert.up = "experts.gate_up_proj";
  spec.expert.down = "experts.down_proj";
  return spec;
}

std::vector<named_rows> up_rows(const models::mlp_spec& spec, const std::string& prefix) {
  const auto width = spec.intermediate;
  const auto rows = [&](const std::string& name) {
    return named_rows{.name = prefix + name,
                      .rows = width,
                      .stored = spec.all_columns(),
                      .runs = {{spec.columns.first, width}},
                      .transposed = spec.transposed};
  };
  if (spec.gate.empty()) return {rows(spec.up)};
  if (spec.gate != spec.up) return {rows(spec.gate), rows(spec.up)};
  return {{.name = prefix + spec.up,
           .rows = 2 * width,
           .stored = 2 * spec.all_columns(),
           .runs = gate_then_up(spec),
           .transposed = spec.transposed}};
}

std::vector<named_rows> up_rows(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert) {
  auto parts = up_rows(spec.expert, prefix_of(spec, prefix, expert));
  for (auto& rows : parts) find_in_stack(spec, expert, rows);
  return parts;
}

named_rows down_rows(const models::mlp_spec& spec, const std::string& prefix, std::int64_t outputs) {
  return {.name = prefix + spec.down,
          .rows = outputs,
          .transposed = spec.transposed,
          .stored_inputs = spec.all_columns(),
          .first_input = spec.columns.first};
}

named_rows down_rows(const models::moe_spec& spec, const std::string& prefix, std::int64_t expert,
                     std::int64_t outputs) {
  auto rows = down_rows(spec.expert, prefix_of(spec, prefix, expert), outputs);
  find_in_stack(spec, expert, rows);
  rows.scaled = spec.router.share_scales != spec.expert.down + ".scale";  // as Gemma 4's files name them
  return rows;
}

std::array<float, 4> activation_parameters(const models::mlp_spec& spec, const std::string& prefix,
                                           const read_numbers& read) {
  if (spec.activation != kernels::activation::xielu) return spec.parameters;
  const auto softplus = [](float x) { return kernels::rounded_log1p(std::exp(x)); };
  const auto number = [&](const char* name, std::initializer_list<std::int64_t> shape) {
    return read(prefix + "act_fn." + name, shape).front();
  };
  const float beta = number("beta", {}), eps = number("eps", {});
  return {softplus(number("alpha_p", {1})), beta + softplus(number("alpha_n", {1})), beta, eps};
}

}  // namespace cogen::weights
