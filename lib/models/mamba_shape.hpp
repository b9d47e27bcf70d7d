#pragma once

#include "layers/mamba_mixer.hpp"
#include "load/mamba_fields.hpp"

#include <cogen/load/model_config.hpp>

namespace cogen::models {

/// The shape of a mixer by the configuration; without norms inside.
inline layers::mamba_shape mamba_shape_of(const load::mamba_fields& fields, const load::model_config& config) {
  return {.hidden = config.hidden,
          .channels = fields.inner,
          .states = fields.state,
          .taps = fields.convolution,
          .rank = fields.time_step_rank,
          .bias = fields.bias,
          .convolution_bias = fields.convolution_bias};
}

}  // namespace cogen::models
