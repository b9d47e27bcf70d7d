#include "network/backend/cpu/mamba_scan.hpp"

#include "network/backend/cpu/layer_states.hpp"
#include "network/kernels/selective_scan.hpp"
#include "network/weights/mixer_rows.hpp"

#include <array>

namespace cogen::cpu {

namespace {

std::vector<float> read_decay(weight_reader& weights, const std::string& name, const models::mamba_spec& shape) {
  return weights::decays_of(channels_last(weights.numbers(name, {shape.channels, shape.states}), shape.channels));
}

projection project(weight_reader& weights, const std::string& name, std::int64_t outputs, std::int64_t inputs) {
  return weights.projection(std::array{weights::named_rows{name + ".weight", outputs}}, inputs);
}

}  // namespace

mamba_scan::mamba_scan(weight_reader& weights, const std::string& prefix, const models::mamba_spec& spec)
    : spec_(spec),
      convolution_(weights, prefix + "conv1d",
                   {.channels = spec.channels, .taps = spec.taps, .bias = spec.convolution_bias}),
      selection_(project(weights, prefix + "x_proj", spec.rank + 2 * spec.states, spec.channels)),
      step_(project(weights, prefix + "dt_proj", spec.channels, spec.rank)),
      decay_(read_decay(weights, prefix + "A_log", spec)),
      skip_(weights.numbers(prefix + "D", {spec.channels})) {
  step_.bias = weights.vector(std::array{weights::named_rows{prefix + "dt_proj.bias", spec.channels}});
  if (spec.norm_epsilon) {
    const auto norm_of = [&](const char* name, std::int64_t width) {
      return *weights.norm({.name = prefix + name, .epsilon = *spec.norm_epsilon}, width);
    };
    norms_.emplace(norms{norm_of("dt_layernorm", spec.rank), norm_of("b_layernorm", spec.states),
                         norm_of("c_layernorm", spec.states)});
  }
}

activations mamba_scan::operator()(const forward_context& context, int layer, const activations& x_and_gate) const {
  const auto mixed = context.space.take(x_and_gate.rows, spec_.channels);
  convolution_(context, layer, x_and_gate.columns_from(0, spec_.channels), mixed);
  scan(context, layer, mixed, x_and_gate.columns_from(spec_.channels, spec_.channels), mixed);
  return mixed;
}

void mamba_scan::scan(const forward_context& context, int layer, const activations& x, const activations& gate,
                      const activations& out) const {
  const arena::scope scratch(context.space);
  const auto selection = context.space.take(x.rows, spec_.rank + 2 * spec_.states);
  const auto low_step = selection.columns_from(0, spec_.rank);
  const auto b = selection.columns_from(spec_.rank, spec_.states);
  const auto c = selection.columns_from(spec_.rank + spec_.states, spec_.states);
  const auto step = context.space.take(x.rows, spec_.channels);
  selection_(context.exact(), x, selection);
  if (norms_) {
    norms_->step(context, low_step, low_step);
    norms_->b(context, b, b);
    norms_->c(context, c, c);
  }
  step_(context.exact(), low_step, step);
  run_with_states(context, layer, kernels::selective_scan,
                  {.x = x,
                   .gate = gate,
                   .step = step,
                   .b = b,
                   .c = c,
                   .decay = decay_.data(),
                   .skip = skip_.data(),
                   .out = out,
                   .channels = spec_.channels,
                   .states = static_cast<int>(spec_.states),
                   .state_offset = convolution_.state()});
}

std::int64_t mamba_scan::bytes() const {
  std::int64_t bytes = convolution_.bytes() + selection_.bytes() + step_.bytes();
  for (const auto* values : {&decay_, &skip_}) bytes += bytes_of(*values);
  if (norms_) bytes += norms_->step.bytes() + norms_->b.bytes() + norms_->c.bytes();
  return bytes;
}

}  // namespace cogen::cpu
