#pragma once

#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/module_parts.hpp"

#include <fmt/ranges.h>

#include <string>
#include <string_view>

namespace cogen::load {

/// "tensor 'a.weight' is u8 [2, 3]", for messages.
inline std::string description(const tensor_info& tensor) {
  return fmt::format("tensor {} is {} [{}]", in_quotes(tensor.name), to_string(tensor.type),
                     fmt::join(tensor.shape, ", "));
}

/// Throws load_error for a part: "FILE: tensor 'a' is u8 [2, 3]; REASON".
[[noreturn]] inline void refuse_part(const tensor_file& stored, const tensor_info& part, std::string_view reason) {
  refuse(stored.path().string(), "{}; {}", description(part), reason);
}

/// The part that a module of such codes has. Throws load_error without it.
inline const tensor_info& required(const tensor_file& stored, const tensor_info* part, std::string_view name,
                                   const tensor_info& codes) {
  if (part == nullptr)
    refuse(stored.path().string(), "tensor {} has codes without numbers; a tensor {} belongs to it",
           in_quotes(codes.name), name);
  return *part;
}

/// How many inputs share one of `groups` scales of a row of integers. Throws load_error where that is not a multiple of
/// 32, or all inputs.
inline std::int64_t integer_group_size(const tensor_file& stored, const tensor_info& scales, std::int64_t groups,
                                       std::int64_t inputs) {
  if (groups < 1 || inputs % groups != 0)
    refuse_part(stored, scales, fmt::format("groups of equal size in {} inputs are read", inputs));
  const auto group = inputs / groups;
  if (group % 32 != 0 && groups > 1)
    refuse_part(stored, scales, fmt::format("groups of {} inputs are not read; multiples of 32 are", group));
  return group;
}

}  // namespace cogen::load
