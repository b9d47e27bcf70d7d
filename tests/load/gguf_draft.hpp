#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A number as its bytes in memory.
template <class Number>
std::string raw(Number value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

/// A GGUF string: length and bytes.
inline std::string raw_text(std::string_view text) { return raw(std::uint64_t{text.size()}).append(text); }

/// One metadata entry: key, the number of its type, and the value's bytes.
inline std::string entry(std::string_view key, std::uint32_t type, std::string_view value) {
  return raw_text(key) + raw(type).append(value);
}
inline std::string entry_u32(std::string_view key, std::uint32_t value) { return entry(key, 4, raw(value)); }
inline std::string entry_f32(std::string_view key, float value) { return entry(key, 6, raw(value)); }
inline std::string entry_bool(std::string_view key, bool value) { return entry(key, 7, raw(std::uint8_t{value})); }
inline std::string entry_text(std::string_view key, std::string_view value) { return entry(key, 8, raw_text(value)); }
inline std::string entry_array(std::string_view key, std::uint32_t type, std::uint64_t count, std::string_view values) {
  return entry(key, 9, raw(type) + raw(count).append(values));
}
inline std::string entry_texts(std::string_view key, const std::vector<std::string>& values) {
  std::string bytes;
  for (const auto& value : values) bytes += raw_text(value);
  return entry_array(key, 8, values.size(), bytes);
}

/// One tensor as a GGUF header lists it.
struct drafted_tensor {
  std::string name;
  std::vector<std::uint64_t> dimensions;  // innermost first
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};

/// A GGUF file to be written, every field of which a test may get wrong.
struct gguf_draft {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count;  // otherwise as many as there are
  std::optional<std::uint64_t> entry_count;
  std::vector<std::string> entries;
  std::vector<drafted_tensor> tensors;
  std::size_t alignment = 32;
  std::string data;

  /// Adds a tensor behind the others.
  void add(std::string name, std::vector<std::uint64_t> dimensions, std::uint32_t type, std::string_view bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment);
    tensors.push_back({std::move(name), std::move(dimensions), type, data.size()});
    data += bytes;
  }

  std::string bytes() const {
    auto file =
        magic + raw(version) + raw(tensor_count.value_or(tensors.size())) + raw(entry_count.value_or(entries.size()));
    for (const auto& written : entries) file += written;
    for (const auto& tensor : tensors) {
      file += raw_text(tensor.name) + raw(static_cast<std::uint32_t>(tensor.dimensions.size()));
      for (const auto dimension : tensor.dimensions) file += raw(dimension);
      file += raw(tensor.type) + raw(tensor.offset);
    }
    if (!tensors.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment);
    return file + data;
  }
};
