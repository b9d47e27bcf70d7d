#pragma once

#include "formats/checkpoint/quantized_blocks.hpp"
#include "formats/checkpoint/safetensors.hpp"
#include "safetensors_draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace cogen::test {

struct stored_tensor {
  std::string name;
  element_type type{};
  std::vector<std::int64_t> shape;
  std::string bytes;
};

/// All tensors of a safetensors file, in its order.
inline std::vector<stored_tensor> read_weights(const std::filesystem::path& path) {
  const load::safetensors_file file(path);
  std::vector<stored_tensor> tensors;
  for (const auto& each : file.tensors()) {
    std::string bytes(each.bytes, '\0');
    file.read(each, 0, std::as_writable_bytes(std::span(bytes)));
    tensors.push_back({each.name, each.type, each.shape, std::move(bytes)});
  }
  return tensors;
}

inline std::string safetensors_name(element_type type) {
  if (type == element_type::boolean) return "BOOL";
  std::string name(to_string(type));
  for (auto& letter : name) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

/// A safetensors file of them.
inline void write_weights(const std::filesystem::path& path, std::span<const stored_tensor> tensors) {
  std::vector<std::string> entries;
  std::string data;
  for (const auto& each : tensors) {
    const auto shape = fmt::format("{}", fmt::join(each.shape, ","));
    const auto end = data.size() + each.bytes.size();
    entries.push_back(tensor_entry(each.name, safetensors_name(each.type), shape, data.size(), end));
    data += each.bytes;
  }
  std::ofstream(path, std::ios::binary) << safetensors_bytes(fmt::format("{{{}}}", fmt::join(entries, ",")), data);
}

}  // namespace cogen::test
