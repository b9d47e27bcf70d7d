#include "network/backend/cpu/mamba2_scan.hpp"

#include "network/backend/cpu/row_arithmetic.hpp"

#include <array>
#include <cstddef>

namespace cogen::cpu {

namespace {

using place = models::mamba2_spec::norm_place;

std::vector<norm> read_norms(weight_reader& weights, const std::string& name, const models::mamba2_spec& spec) {
  const auto values = weights.numbers(name + ".weight", {spec.values()});
  const auto width = spec.values() / spec.groups;
  std::vector<norm> norms;
  for (auto group = values.begin(); group != values.end(); group += width)
    norms.emplace_back(models::norm_spec{.name = "", .epsilon = spec.norm_epsilon},
                       std::vector<float>(group, group + width));
  return norms;
}

}  // namespace

mamba2_scan::mamba2_scan(weight_reader& weights, const std::string& prefix, const models::mamba2_spec& spec)
    : spec_(spec),
      convolution_(weights, prefix + "conv1d",
                   {.channels = spec.channels(), .taps = spec.taps, .bias = spec.convolution_bias}),
      decay_(weights, prefix, spec.heads),
      skip_(weights.numbers(prefix + "D", {spec.heads})),
      norms_(spec.norm == place::none ? std::vector<norm>() : read_norms(weights, prefix + "norm", spec)) {}

activations mamba2_scan::operator()(const forward_context& context, int layer, const activations& in,
                                    const activations& steps) const {
  const auto mixed = context.space.take(in.rows, spec_.channels());
  const auto values = mixed.columns_from(0, spec_.values());
  scale(context, in, steps);
  convolution_(context, layer, in.columns_from(spec_.values(), spec_.channels()), mixed);
  scan(context, layer, mixed, steps);
  if (spec_.norm == place::before_gate) norm_parts(norms_, context, values);
  activate_rows(context, kernels::activation::silu, in.columns_from(0, spec_.values()), values, values);
  if (spec_.norm == place::behind_gate) norm_parts(norms_, context, values);
  return values;
}

void mamba2_scan::scale(const forward_context& context, const activations& in, const activations& steps) const {
  std::int64_t first = 0;
  const std::array widths{spec_.values(), spec_.values(), spec_.keys(), spec_.keys()};
  for (std::size_t part = 0; part < widths.size(); first += widths[part++])
    if (spec_.scales[part] != 1) scale_rows(context, spec_.scales[part], in.columns_from(first, widths[part]));
  if (spec_.scales[4] != 1) scale_rows(context, spec_.scales[4], steps);
}

void mamba2_scan::scan(const forward_context& context, int layer, const activations& xbc,
                       const activations& steps) const {
  const arena::scope scratch(context.space);
  const auto decays = context.space.take(xbc.rows, spec_.heads);
  decay_(context, steps, steps, decays);
  attend(context, layer,
         {.q = xbc.columns_from(spec_.values() + spec_.keys(), spec_.keys()),
          .k = xbc.columns_from(spec_.values(), spec_.keys()),
          .v = xbc.columns_from(0, spec_.values()),
          .decay = decays,
          .rate = steps},
         {.skip = skip_.data(),
          .heads = spec_.heads,
          .key_heads = spec_.groups,
          .key_width = spec_.states,
          .value_width = spec_.head_width,
          .state_offset = convolution_.state()});
}

std::int64_t mamba2_scan::bytes() const {
  auto bytes = convolution_.bytes() + decay_.bytes() + bytes_of(skip_);
  for (const auto& each : norms_) bytes += each.bytes();
  return bytes;
}

}  // namespace cogen::cpu
