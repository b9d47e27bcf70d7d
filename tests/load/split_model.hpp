#pragma once

#include "gguf_draft.hpp"
#include "temporary_folder.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// The name of part `number`, from 0, of so many.
inline std::string part_name(std::size_t number, std::size_t count) {
  const auto digits = [](std::size_t value) {
    const auto text = std::to_string(value);
    return std::string(5 - text.size(), '0') + text;
  };
  return "model-" + digits(number + 1) + "-of-" + digits(count) + ".gguf";
}

inline std::string split_number(std::size_t number) {
  return entry("split.no", 2, raw(static_cast<std::uint16_t>(number)));
}
inline std::string split_count(std::size_t count) {
  return entry("split.count", 2, raw(static_cast<std::uint16_t>(count)));
}
inline std::string split_tensors(std::size_t tensors) {
  return entry("split.tensors.count", 5, raw(static_cast<std::int32_t>(tensors)));
}

/// A model in so many parts, as llama-gguf-split writes it: the first part has the metadata, and so many tensors that
/// the last has what is left.
inline std::vector<gguf_draft> split(const gguf_draft& whole, std::size_t count, std::size_t tensors_in_first) {
  std::vector<gguf_draft> parts(count);
  parts.front().entries = whole.entries;
  for (std::size_t i = 0; i < count; ++i) {
    for (auto& written : {split_number(i), split_count(count), split_tensors(whole.tensors.size())})
      parts[i].entries.push_back(written);
  }
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    const auto& tensor = whole.tensors[i];
    const auto end = i + 1 < whole.tensors.size() ? whole.tensors[i + 1].offset : whole.data.size();
    const auto part = i < tensors_in_first ? 0 : std::min(count - 1, i - tensors_in_first + 1);
    parts[part].add(tensor.name, tensor.dimensions, tensor.type,
                    std::string_view(whole.data).substr(tensor.offset, end - tensor.offset));
  }
  return parts;
}

/// Writes them under their names, and returns the path of the first.
inline std::filesystem::path write_parts(const temporary_folder& folder, const std::vector<gguf_draft>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) folder.write(part_name(i, parts.size()), parts[i].bytes());
  return folder.path() / part_name(0, parts.size());
}
