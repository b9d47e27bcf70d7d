#include "formats/checkpoint/group_index.hpp"

#include "formats/checkpoint/part_checks.hpp"

#include <algorithm>

namespace cogen::load {

std::vector<std::int32_t> group_order(const tensor_file& stored, const tensor_info* index, std::int64_t inputs,
                                      std::int64_t group) {
  if (index == nullptr) return {};
  if (index->type != element_type::i32 || element_count(*index) != inputs)
    refuse_part(stored, *index, fmt::format("i32 [{}] belongs there", inputs));
  std::vector<std::int32_t> order(static_cast<std::size_t>(inputs));
  stored.read(*index, 0, std::as_writable_bytes(std::span(order)));
  if (std::ranges::all_of(order, [](auto found) { return found == -1; })) return {};  // compressed-tensors: in order
  const auto groups = inputs / group;
  bool in_order = true;
  for (std::int64_t input = 0; input < inputs; ++input) {
    const auto found = order[static_cast<std::size_t>(input)];
    if (found < 0 || found >= groups)
      refuse(stored.path().string(), "tensor {} gives input {} to group {}; there are {}", in_quotes(index->name),
             input, found, groups);
    in_order = in_order && found == input / group;
  }
  return in_order ? std::vector<std::int32_t>{} : order;
}

}  // namespace cogen::load
