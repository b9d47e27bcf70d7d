#include "formats/checkpoint/mxfp4_folder.hpp"

#include "formats/checkpoint/message.hpp"

#include <fmt/ranges.h>

#include <cstring>
#include <string>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::string_view blocks_ending = "_blocks";
constexpr std::string_view scales_ending = "_scales";
constexpr std::size_t block_codes = sizeof(mxfp4_block::nibbles);
constexpr std::int64_t block_elements = 32;

std::string_view without(std::string_view ending, std::string_view name) {
  return name.substr(0, name.size() - ending.size());
}

/// Elements 2 i and 2 i + 1 are in byte i of `codes`; i and i + 16 in that of a block.
void order_nibbles(const std::uint8_t* codes, std::uint8_t (&nibbles)[block_codes]) {
  constexpr std::size_t half = block_codes / 2;
  for (std::size_t i = 0; i < half; ++i) {
    nibbles[2 * i] = static_cast<std::uint8_t>((codes[i] & 15) | codes[half + i] << 4);
    nibbles[2 * i + 1] = static_cast<std::uint8_t>(codes[i] >> 4 | (codes[half + i] & 0xF0));
  }
}

}  // namespace

mxfp4_folder::mxfp4_folder(std::unique_ptr<const tensor_file> stored)
    : stored_(std::move(stored)), tensors_(joined(), stored_->path().string()) {}

std::vector<tensor_info> mxfp4_folder::joined() {
  std::vector<tensor_info> tensors;
  for (const auto& tensor : stored_->tensors()) {
    const auto both = pair_of(tensor);
    if (!both) {
      tensors.push_back(tensor);
    } else if (both->blocks == &tensor) {
      auto shape = both->scales->shape;
      shape.back() *= block_elements;
      tensors.push_back({.name = std::string(without(blocks_ending, tensor.name)),
                         .type = element_type::mxfp4,
                         .shape = std::move(shape),
                         .bytes = both->blocks->bytes + both->scales->bytes,
                         .begin = pairs_.size()});
      pairs_.push_back(*both);
    }
  }
  return tensors;
}

std::optional<mxfp4_folder::pair> mxfp4_folder::pair_of(const tensor_info& tensor) const {
  const std::string_view name = tensor.name;
  pair both{};
  if (name.ends_with(blocks_ending))
    both = {&tensor, &named(without(blocks_ending, name), scales_ending, tensor)};
  else if (name.ends_with(scales_ending))
    both = {&named(without(scales_ending, name), blocks_ending, tensor), &tensor};
  else
    return std::nullopt;
  check_shapes(both);
  return both;
}

const tensor_info& mxfp4_folder::named(std::string_view start, std::string_view ending,
                                       const tensor_info& partner) const {
  const auto name = std::string(start).append(ending);
  const auto* found = stored_->find(name);
  if (found == nullptr)
    refuse(path().string(), "tensor {} is missing, without which {} has no numbers", in_quotes(name),
           in_quotes(partner.name));
  return *found;
}

void mxfp4_folder::check_shapes(const pair& both) const {
  auto expected = both.scales->shape;
  expected.push_back(block_codes);
  const bool bytes = both.blocks->type == element_type::u8 && both.scales->type == element_type::u8;
  if (bytes && expected.size() > 1 && both.blocks->shape == expected) return;
  refuse(path().string(),
         "tensor {} is {} [{}], and {} is {} [{}]; u8 [..., groups, 16] and u8 [..., groups] belong "
         "together",
         in_quotes(both.blocks->name), to_string(both.blocks->type), fmt::join(both.blocks->shape, ", "),
         in_quotes(both.scales->name), to_string(both.scales->type), fmt::join(both.scales->shape, ", "));
}

void mxfp4_folder::read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  if (tensor.type != element_type::mxfp4) return stored_->read(tensor, offset, out);
  const auto& [blocks, scales] = pairs_.at(tensor.begin);
  const auto first = offset / sizeof(mxfp4_block), count = out.size() / sizeof(mxfp4_block);
  std::vector<std::uint8_t> codes(count * block_codes), exponents(count);
  stored_->read(*blocks, first * block_codes, std::as_writable_bytes(std::span(codes)));
  stored_->read(*scales, first, std::as_writable_bytes(std::span(exponents)));
  for (std::size_t index = 0; index < count; ++index) {
    mxfp4_block block{.exponent = exponents[index], .nibbles = {}};
    order_nibbles(codes.data() + index * block_codes, block.nibbles);
    std::memcpy(out.data() + index * sizeof block, &block, sizeof block);
  }
}

}  // namespace cogen::load
