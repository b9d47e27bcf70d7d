#pragma once

#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/input_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace cogen::load {

/// Everything in a GGUF file before the tensors' data. Each tensor's `begin` and `bytes` lie inside the file.
struct gguf_header {
  std::uint32_t version = 0;
  std::vector<std::string> keys;
  std::vector<gguf_value> values;  // of keys[i]
  std::vector<tensor_info> tensors;
};

/// Reads and checks a header. Throws load_error.
gguf_header read_gguf_header(const input_file& file);

}  // namespace cogen::load
