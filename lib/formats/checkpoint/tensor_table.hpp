#pragma once

#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/name_index.hpp"
#include "formats/checkpoint/tensor_file.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace cogen::load {

/// Tensors with unique names, found by name.
class tensor_table {
 public:
  /// Throws load_error, naming `file`, where two tensors have one name.
  tensor_table(std::vector<tensor_info> tensors, std::string_view file);

  std::span<const tensor_info> tensors() const noexcept { return tensors_; }
  const tensor_info* find(std::string_view name) const noexcept;

 private:
  std::vector<tensor_info> tensors_;
  name_index by_name_;
};

/// tensor_file::read for a tensor that lies in `file`.
void read_tensor(const input_file& file, const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out);

}  // namespace cogen::load
