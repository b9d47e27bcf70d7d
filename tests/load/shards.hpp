#pragma once

#include "safetensors_draft.hpp"
#include "temporary_folder.hpp"
#include "tiny_model.hpp"

#include <cstdint>
#include <string>
#include <string_view>

inline constexpr const char* shard_index_name = "model.safetensors.index.json";

/// One header entry for a vector of floats.
inline std::string float_entry(std::string_view name, std::uint64_t count, std::uint64_t begin) {
  return tensor_entry(name, "F32", std::to_string(count), begin, begin + 4 * count);
}

/// Two shards: one.safetensors holds a = 1 and b = 2, two.safetensors c = 3. There is no index yet.
inline void write_shards(const temporary_folder& folder) {
  folder.write("one.safetensors", safetensors_bytes("{" + float_entry("a", 1, 0) + "," + float_entry("b", 1, 4) + "}",
                                                    counting_floats(2, 1)));
  folder.write("two.safetensors", safetensors_bytes("{" + float_entry("c", 1, 0) + "}", counting_floats(1, 3)));
}
