#pragma once

#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/tensor_file.hpp"

#include <map>
#include <string>
#include <vector>

namespace cogen::load {

/// What a safetensors file says before its data. Each tensor's `begin` and `bytes` lie inside the file.
struct safetensors_header {
  std::vector<tensor_info> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Reads and checks a header. Throws load_error.
safetensors_header read_safetensors_header(const input_file& file);

}  // namespace cogen::load
