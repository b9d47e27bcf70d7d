#include "formats/checkpoint/group_index.hpp"

#include "formats/checkpoint/part_checks.hpp"

#include <algorithm>

namespace cogen::load {

void check_group_index(const tensor_file& stored, const tensor_info& index, std::int64_t inputs, std::int64_t group) {
  if (index.type != element_type::i32 || element_count(index) != inputs)
    refuse_part(stored, index, fmt::format("i32 [{}] belongs there", inputs));
  std::vector<std::int32_t> groups(static_cast<std::size_t>(inputs));
  stored.read(index, 0, std::as_writable_bytes(std::span(groups)));
  if (std::ranges::all_of(groups, [](auto found) { return found == -1; })) return;  // compressed-tensors: of no order
  for (std::int64_t input = 0; input < inputs; ++input) {
    const auto found = groups[static_cast<std::size_t>(input)];
    if (found == input / group) continue;
    refuse(stored.path().string(),
           "tensor {} gives input {} to group {}; groups of {} inputs in their order are read, as tools write them "
           "with desc_act false or actorder static",
           in_quotes(index.name), input, found, group);
  }
}

}  // namespace cogen::load
