#include "load/metadata_tensors.hpp"

#include "load/field_ranges.hpp"
#include "load/message.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace cogen::load {
namespace {

struct parameter {
  std::string_view key;
  std::string_view tensor;
  std::vector<std::int64_t> shape;
};

constexpr real_range parameters{-1e6, 1e6};

const std::array<parameter, 4>& xielu() {
  static const std::array<parameter, 4> all{{{"xielu.alpha_p", "act_fn.alpha_p", {1}},
                                             {"xielu.alpha_n", "act_fn.alpha_n", {1}},
                                             {"xielu.beta", "act_fn.beta", {}},
                                             {"xielu.eps", "act_fn.eps", {}}}};
  return all;
}

std::vector<tensor_info> made_of(const config_fields& fields, std::vector<float>& numbers) {
  std::vector<tensor_info> tensors;
  for (const auto& [key, name, shape] : xielu()) {
    if (!fields.has(key)) continue;
    const auto values = fields.reals(key, parameters);
    const auto layers = fields.integer("block_count", layer_counts);
    if (static_cast<std::int64_t>(values.size()) != layers)
      fields.refuse(key, fmt::format("it must have a number for each of {} layers", layers));
    for (std::size_t layer = 0; layer < values.size(); ++layer) {
      tensors.push_back({.name = fmt::format("blk.{}.{}", layer, name),
                         .type = element_type::f32,
                         .shape = shape,
                         .bytes = sizeof(float),
                         .begin = numbers.size() * sizeof(float)});
      numbers.push_back(static_cast<float>(values[layer]));
    }
  }
  return tensors;
}

}  // namespace

metadata_tensors::metadata_tensors(const config_fields& fields, std::filesystem::path path)
    : path_(std::move(path)), table_(made_of(fields, numbers_), path_.string()) {}

void metadata_tensors::read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > tensor.bytes || out.size() > tensor.bytes - offset)
    throw std::out_of_range(fmt::format("{}: bytes [{}, {}) of {} were asked for; it has {}", path_.string(), offset,
                                        offset + out.size(), in_quotes(tensor.name), tensor.bytes));
  const auto bytes = std::as_bytes(std::span(numbers_)).subspan(tensor.begin + offset, out.size());
  std::ranges::copy(bytes, out.begin());
}

}  // namespace cogen::load
