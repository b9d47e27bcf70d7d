#pragma once

#include "gguf_draft.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// A safetensors file: header and data as given, so that a test may get either wrong.
inline std::string safetensors_bytes(std::string_view header, std::string_view data,
                                     std::optional<std::uint64_t> length = std::nullopt) {
  return raw(length.value_or(header.size())).append(header).append(data);
}

/// One header entry.
inline std::string tensor_entry(std::string_view name, std::string_view type, std::string_view shape,
                                std::uint64_t begin, std::uint64_t end) {
  std::string text = "\"";
  text.append(name).append(R"(":{"dtype":")").append(type).append(R"(","shape":[)").append(shape);
  return text + R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}
