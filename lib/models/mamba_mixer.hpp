#pragma once

#include "load/mamba_fields.hpp"
#include "models/model_spec.hpp"

namespace cogen::models {

/// A mixer as the configuration has it; without norms inside.
inline mamba_spec mamba_mixer(const load::mamba_fields& fields) {
  return {.channels = fields.inner,
          .states = fields.state,
          .taps = fields.convolution,
          .rank = fields.time_step_rank,
          .bias = fields.bias,
          .convolution_bias = fields.convolution_bias};
}

}  // namespace cogen::models
