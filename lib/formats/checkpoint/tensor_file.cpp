#include "formats/checkpoint/tensor_file.hpp"

#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/tensor_table.hpp"

#include <stdexcept>
#include <utility>

namespace cogen::load {
namespace {

name_index index_of(const std::vector<tensor_info>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const auto& tensor : tensors) names.push_back(tensor.name);
  return name_index(std::move(names));
}

}  // namespace

std::int64_t element_count(const tensor_info& tensor) noexcept {
  std::int64_t count = 1;
  for (const auto dimension : tensor.shape) count *= dimension;
  return count;
}

tensor_table::tensor_table(std::vector<tensor_info> tensors, std::string_view file)
    : tensors_(std::move(tensors)), by_name_(index_of(tensors_)) {
  if (const auto name = by_name_.duplicate()) refuse(file, "tensor {} is there twice", in_quotes(*name));
}

const tensor_info* tensor_table::find(std::string_view name) const noexcept {
  const auto position = by_name_.find(name);
  return position ? &tensors_[*position] : nullptr;
}

void read_tensor(const input_file& file, const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset) {
    throw std::out_of_range(fmt::format("{}: bytes [{}, {}) of tensor {} were asked for; it has {}", file.name(),
                                        offset, offset + out.size(), in_quotes(tensor.name), tensor.bytes));
  }
  file.read(tensor.begin + offset, out);
}

}  // namespace cogen::load
