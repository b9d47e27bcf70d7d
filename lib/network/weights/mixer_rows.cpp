#include "network/weights/mixer_rows.hpp"

#include <cmath>
#include <numeric>

namespace cogen::weights {

namespace {

/// Rows of a tensor that has so many of each kind for each group: all of the first kind, then those of the others.
std::vector<row_run> kind_by_kind(std::int64_t groups, const std::vector<std::int64_t>& counts) {
  const auto stride = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<row_run> runs;
  std::int64_t first = 0;
  for (const auto count : counts) {
    for (std::int64_t group = 0; group < groups; ++group) runs.push_back({group * stride + first, count});
    first += count;
  }
  return runs;
}

}  // namespace

std::vector<named_rows> in_rows(const models::short_convolution_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj", .rows = spec.in_width()}};
}

std::vector<named_rows> decision_rows(const models::short_convolution_spec&, const std::string&) { return {}; }

std::vector<named_rows> in_rows(const models::delta_net_spec& spec, const std::string& prefix) {
  if (spec.grouped_qkvz) {
    const auto values = spec.values() / spec.key_heads;
    return {{.name = prefix + "in_proj_qkvz",
             .rows = spec.channels() + spec.values(),
             .runs = kind_by_kind(spec.key_heads, {spec.key_width, spec.key_width, values, values})}};
  }
  return {{.name = prefix + "in_proj_qkv", .rows = spec.channels()},
          {.name = prefix + "in_proj_z", .rows = spec.values()}};
}

std::vector<named_rows> decision_rows(const models::delta_net_spec& spec, const std::string& prefix) {
  if (spec.grouped_ba) {
    const auto values = spec.heads / spec.key_heads;
    return {{.name = prefix + "in_proj_ba",
             .rows = 2 * spec.heads,
             .runs = kind_by_kind(spec.key_heads, {values, values})}};
  }
  return {{.name = prefix + "in_proj_b", .rows = spec.heads}, {.name = prefix + "in_proj_a", .rows = spec.heads}};
}

std::vector<named_rows> in_rows(const models::mamba2_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj", .rows = spec.in_width(), .stored = spec.in_width() + spec.decisions()}};
}

std::vector<named_rows> decision_rows(const models::mamba2_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj",
           .rows = spec.decisions(),
           .stored = spec.in_width() + spec.decisions(),
           .runs = {{.first = spec.in_width(), .count = spec.decisions()}}}};
}

std::vector<float> decays_of(std::vector<float> logarithms) {
  for (auto& value : logarithms) value = -std::exp(value);
  return logarithms;
}

}  // namespace cogen::weights
