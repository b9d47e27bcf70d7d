#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cstdint>

namespace cogen::load {

/// What a configuration says of its quantized weights that their tensors do not.
struct quantization_method {
  /// Of FP8: outputs and inputs that share a scale.
  std::int64_t block_outputs = 128, block_inputs = 128;
  /// Of GPTQ: zeros are stored less by one.
  bool lowered_zeros = true;
  /// Of GPTQ: all zeros are said to be in the middle.
  bool symmetric = false;
};

/// Throws load_error, naming the field, for a method that is not read.
quantization_method read_quantization_method(const config_fields& fields);

}  // namespace cogen::load
