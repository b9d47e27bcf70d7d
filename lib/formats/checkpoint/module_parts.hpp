#pragma once

#include "formats/checkpoint/tensor_file.hpp"

#include <string>

namespace cogen::load {

/// The tensors that stand for one weight in a quantized Hugging Face folder; null where there is none. A module P has
/// P.weight, for which they are named: P.weight_scale. AWQ and GPTQ name them for the module: P.qweight.
struct module_parts {
  std::string weight_name;  ///< of the weight that they stand for
  const tensor_info* weight = nullptr;
  const tensor_info* packed = nullptr;         ///< weight_packed
  const tensor_info* scale = nullptr;          ///< weight_scale, of Mistral's folders qscale_weight
  const tensor_info* scale_inv = nullptr;      ///< weight_scale_inv, a multiplier, too
  const tensor_info* second_scale = nullptr;   ///< weight_scale_2
  const tensor_info* global_scale = nullptr;   ///< weight_global_scale
  const tensor_info* zero_point = nullptr;     ///< weight_zero_point
  const tensor_info* shape = nullptr;          ///< weight_shape
  const tensor_info* group_index = nullptr;    ///< weight_g_idx, g_idx
  const tensor_info* turned = nullptr;         ///< qweight
  const tensor_info* turned_zeros = nullptr;   ///< qzeros
  const tensor_info* turned_scales = nullptr;  ///< scales
  // of bitsandbytes:
  const tensor_info* maxima = nullptr;         ///< weight.absmax
  const tensor_info* table = nullptr;          ///< weight.quant_map
  const tensor_info* nested_maxima = nullptr;  ///< weight.nested_absmax
  const tensor_info* nested_table = nullptr;   ///< weight.nested_quant_map
  const tensor_info* state = nullptr;          ///< weight.quant_state.bitsandbytes__nf4, or __fp4
  const tensor_info* row_maxima = nullptr;     ///< SCB
  const tensor_info* row_format = nullptr;     ///< weight_format

  /// The tensor that holds the codes, if there is one.
  const tensor_info* codes() const noexcept;
};

}  // namespace cogen::load
