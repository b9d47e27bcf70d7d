#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cstdint>
#include <vector>

namespace cogen::load {

/// Outputs and inputs of a matrix that share a scale.
struct scale_block {
  std::int64_t outputs, inputs;
  bool operator==(const scale_block&) const = default;
};

/// What a configuration says of its quantized weights that their tensors do not.
struct quantization_method {
  /// Of FP8: one at least. Where there are several, each for some modules, the scales of a module tell which is its.
  std::vector<scale_block> blocks;
  /// Of GPTQ: zeros are stored less by one.
  bool lowered_zeros = true;
  /// Of GPTQ: all zeros are said to be in the middle.
  bool symmetric = false;
};

/// Throws load_error, naming the field, for a method that is not read.
quantization_method read_quantization_method(const config_fields& fields);

}  // namespace cogen::load
