#pragma once

#include "formats/checkpoint/module_parts.hpp"
#include "formats/checkpoint/quantization_method.hpp"
#include "formats/checkpoint/quantized_module.hpp"

#include <memory>

// The kinds of modules that quantized folders hold. Each function throws load_error, naming the tensor, where parts are
// missing, do not belong together, or are of a form that is not read.
namespace cogen::load {

using module_pointer = std::unique_ptr<const quantized_module>;

/// Codes of E4M3 with a scale for the matrix, for each row, for blocks, or for groups of a row.
module_pointer make_fp8_module(const tensor_file& stored, const module_parts& parts, const quantization_method& method);

/// Codes of 8 bits, one in each byte, with scales or, of bitsandbytes, the greatest number of each row.
module_pointer make_int8_module(const tensor_file& stored, const module_parts& parts);

/// Codes of 1 to 8 bits along the rows, in words of 32 bits (compressed-tensors).
module_pointer make_packed_module(const tensor_file& stored, const module_parts& parts);

/// Codes of E2M1, two in a byte: NVFP4 of compressed-tensors and of ModelOpt, and MXFP4.
module_pointer make_fp4_module(const tensor_file& stored, const module_parts& parts);

/// Indices of 4 bits into a table, times the greatest number of each block: NF4 and FP4 of bitsandbytes.
module_pointer make_table_module(const tensor_file& stored, const module_parts& parts);

/// Codes of AWQ and GPTQ, which are stored as [inputs, outputs].
module_pointer make_transposed_module(const tensor_file& stored, const module_parts& parts,
                                      const quantization_method& method);

}  // namespace cogen::load
