#pragma once

#include "network/models/mamba_fields.hpp"
#include "network/models/model_spec.hpp"

#include <limits>

namespace cogen::models {

/// A mixer as the configuration has it; without norms inside.
inline mamba_spec mamba_mixer(const mamba_fields& fields) {
  return {.channels = fields.inner,
          .states = fields.state,
          .taps = fields.convolution,
          .rank = fields.time_step_rank,
          .bias = fields.bias,
          .convolution_bias = fields.convolution_bias};
}

/// Throws load::load_error where the configuration limits time steps, which Transformers does in part only.
inline mamba2_spec mamba2_mixer(const load::config_fields& source, const mamba2_fields& fields,
                                const load::model_config& config) {
  const auto limits = source.reals("time_step_limit", {-1e9, std::numeric_limits<double>::infinity()});
  if (!limits.empty() && (limits.front() > 0 || limits.back() < std::numeric_limits<double>::infinity()))
    source.refuse("time_step_limit", "time steps without limits are read");
  return {.heads = fields.heads,
          .head_width = fields.head_width,
          .groups = fields.groups,
          .states = fields.state,
          .taps = fields.convolution,
          .bias = fields.bias,
          .convolution_bias = fields.convolution_bias,
          .norm_epsilon = config.rms_norm_eps};
}

}  // namespace cogen::models
