#pragma once

#include <cstdint>
#include <string>

namespace cogen::models {

/// y = (x - mean) / sqrt(variance + epsilon) * (weight_scale * weight + weight_offset) + bias; RMS norms leave out mean
/// and bias. Without a name there are neither weights nor a bias.
struct norm_spec {
  enum class kind : std::uint8_t { rms, layer };

  std::string name;
  double epsilon = 1e-6;
  kind type = kind::rms;
  float weight_offset = 0;
  bool bias = false;  ///< of a layer norm
  float weight_scale = 1;
};

}  // namespace cogen::models
